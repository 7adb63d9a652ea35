//! Keys of the issuer: found through its metadata, cached, and read again after a rotation.
//!
//! A token with an unknown key id may be signed with a new key, so it causes a read, but all of them
//! together at most one in [`MIN_READ_INTERVAL_MILLIS`]: clients without any token could otherwise
//! make this server flood the issuer.

use std::sync::{Arc, Mutex, PoisonError};

use domain::settings::is_confidential_url;
use domain::time::Timestamp;

use super::IssuerDocuments;
use super::key_set::KeySet;
use crate::authentication::AuthenticationError;

/// Age up to which the keys are used without reading them again. A key that the issuer withdrew
/// stays valid no longer than this.
const KEY_TTL_MILLIS: i64 = 10 * 60 * 1000;
/// Age up to which they are used while the issuer does not respond.
const MAX_KEY_AGE_MILLIS: i64 = 60 * 60 * 1000;
/// Minimum time between two reads.
const MIN_READ_INTERVAL_MILLIS: i64 = 10_000;

/// The keys of an issuer at the time they were read.
#[derive(Clone)]
struct CachedKeys {
    keys: Arc<KeySet>,
    read_at: Timestamp,
}

impl CachedKeys {
    fn is_younger_than(&self, age_millis: i64, now: Timestamp) -> bool {
        is_within(self.read_at, age_millis, now)
    }
}

/// Whether a time is at most so long ago; a clock that was set back counts as long ago.
fn is_within(at: Timestamp, age_millis: i64, now: Timestamp) -> bool {
    let age = now.as_millis().saturating_sub(at.as_millis());
    (0..age_millis).contains(&age)
}

/// Cache of an issuer's keys.
pub(super) struct IssuerKeys {
    issuer: String,
    documents: Arc<dyn IssuerDocuments>,
    cached: Mutex<Option<CachedKeys>>,
    /// Held during a read, so that concurrent requests share one; the time of the last attempt.
    reading: tokio::sync::Mutex<Option<Timestamp>>,
}

impl IssuerKeys {
    pub(super) fn new(issuer: &str, documents: Arc<dyn IssuerDocuments>) -> Self {
        Self {
            issuer: issuer.to_owned(),
            documents,
            cached: Mutex::default(),
            reading: tokio::sync::Mutex::default(),
        }
    }

    /// Returns the cached keys, read again if they are old.
    pub(super) async fn cached_keys(
        &self,
        now: Timestamp,
    ) -> Result<Arc<KeySet>, AuthenticationError> {
        match self.held_keys() {
            Some(held) if held.is_younger_than(KEY_TTL_MILLIS, now) => Ok(held.keys),
            held => self.read_keys(now, held.map(|held| held.keys)).await,
        }
    }

    /// Returns the keys that are newer than `known`, or `known` if they were read a moment ago.
    pub(super) async fn keys_read_again(
        &self,
        now: Timestamp,
        known: &Arc<KeySet>,
    ) -> Result<Arc<KeySet>, AuthenticationError> {
        self.read_keys(now, Some(known.clone())).await
    }

    fn held_keys(&self) -> Option<CachedKeys> {
        let cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        cached.clone()
    }

    /// Reads the keys, unless another request replaced `known` meanwhile.
    async fn read_keys(
        &self,
        now: Timestamp,
        known: Option<Arc<KeySet>>,
    ) -> Result<Arc<KeySet>, AuthenticationError> {
        let mut attempt = self.reading.lock().await;
        let held = self.held_keys();
        if let Some(held) = &held
            && !known.is_some_and(|known| Arc::ptr_eq(&known, &held.keys))
        {
            return Ok(held.keys.clone());
        }
        let still_good = || {
            let usable = held.filter(|held| held.is_younger_than(MAX_KEY_AGE_MILLIS, now));
            usable
                .map(|held| held.keys)
                .ok_or(AuthenticationError::IssuerUnavailable)
        };
        if attempt.is_some_and(|at| is_within(at, MIN_READ_INTERVAL_MILLIS, now)) {
            return still_good();
        }
        *attempt = Some(now);
        let (issuer, documents) = (self.issuer.clone(), self.documents.clone());
        // The client is synchronous; a slow issuer must not block the runtime's threads.
        let read = tokio::task::spawn_blocking(move || fetch_keys(&issuer, &*documents)).await;
        let Ok(Ok(keys)) = read else {
            return still_good();
        };
        let keys = Arc::new(keys);
        *self.cached.lock().unwrap_or_else(PoisonError::into_inner) = Some(CachedKeys {
            keys: keys.clone(),
            read_at: now,
        });
        Ok(keys)
    }
}

/// Reads an issuer's metadata and its keys.
pub(super) fn fetch_keys(issuer: &str, documents: &dyn IssuerDocuments) -> Result<KeySet, String> {
    let [first, second] = metadata_urls(issuer);
    let metadata = documents
        .fetch_json(&first)
        .or_else(|why| documents.fetch_json(&second).map_err(|_| why))?;
    // By RFC 8414: metadata that names another issuer may be that of an attacker.
    if metadata["issuer"] != issuer {
        return Err(format!(
            "its metadata is that of another issuer: {}",
            metadata["issuer"]
        ));
    }
    let url = metadata["jwks_uri"]
        .as_str()
        .filter(|url| is_confidential_url(url))
        .ok_or("its metadata has no `jwks_uri` with https://")?;
    let keys = KeySet::from_json(&documents.fetch_json(url)?)
        .filter(|keys| !keys.is_empty())
        .ok_or_else(|| format!("{url} has no key for RS256, ES256 or EdDSA"))?;
    Ok(keys)
}

/// Returns where an issuer's metadata is: as OpenID Connect has it, then as RFC 8414 has it.
fn metadata_urls(issuer: &str) -> [String; 2] {
    let issuer = issuer.trim_end_matches('/');
    let (origin, path) = match issuer.split_once("://") {
        Some((scheme, rest)) => match rest.split_once('/') {
            Some((host, path)) => (format!("{scheme}://{host}"), format!("/{path}")),
            None => (issuer.to_owned(), String::new()),
        },
        None => (issuer.to_owned(), String::new()),
    };
    [
        format!("{issuer}/.well-known/openid-configuration"),
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
    ]
}

#[cfg(test)]
mod tests {
    use super::metadata_urls;

    #[test]
    fn metadata_is_looked_up_where_both_standards_have_it() {
        assert_eq!(
            metadata_urls("https://id.example.org/realms/plans/"),
            [
                "https://id.example.org/realms/plans/.well-known/openid-configuration",
                "https://id.example.org/.well-known/oauth-authorization-server/realms/plans",
            ]
        );
        assert_eq!(
            metadata_urls("https://id.example.org")[1],
            "https://id.example.org/.well-known/oauth-authorization-server"
        );
    }
}
