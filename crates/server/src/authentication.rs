//! Who is let in: whoever shows the secret the server was started with, a token of the book, or a browser's cookie for
//! one of them.
//!
//! The good tokens of the book are held for a second, so that most requests ask the database nothing. An unknown token
//! costs no more than a known one, and however many there are, they make the book be read ten times a second at most.
//! What cannot be checked lets nobody in.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use application::Workspace;
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, COOKIE};
use domain::authorization::{AuthenticatedPrincipal, Scope};
use domain::ids::{Digest32, Principal};
use domain::time::Timestamp;
use domain::token::{SECRET_PREFIX, Token, TokenState, cookie_value, secret_hash};

/// How old what is known of the book may be.
const CACHE_TTL: Duration = Duration::from_secs(1);
/// From when on it is no longer believed, although the book cannot be read.
const MAX_CACHE_AGE: Duration = Duration::from_secs(2);
/// The book is read anew for an unknown token, which may have been given a moment ago, but not more often than this.
const MIN_READ_INTERVAL: Duration = Duration::from_millis(100);

/// What a request shows of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Credential<'r> {
    Secret(&'r str),
    Cookie(&'r str),
    Missing,
}

impl<'r> Credential<'r> {
    /// Returns the token in the headers.
    pub(crate) fn from_bearer_header(headers: &'r HeaderMap) -> Self {
        let bearer = |header: &'r str| {
            let (scheme, token) = header.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        };
        let given = headers
            .get(AUTHORIZATION)
            .and_then(|given| given.to_str().ok())
            .and_then(bearer);
        given.map_or(Self::Missing, Self::Secret)
    }

    /// Returns the cookie of this name.
    pub(crate) fn from_cookie(headers: &'r HeaderMap, name: &str) -> Self {
        let sent = headers
            .get_all(COOKIE)
            .iter()
            .filter_map(|header| header.to_str().ok());
        let mut pairs = sent
            .flat_map(|header| header.split(';'))
            .filter_map(|pair| pair.trim().split_once('='));
        pairs
            .find(|(key, _)| *key == name)
            .map_or(Self::Missing, |(_, value)| Self::Cookie(value))
    }
}

/// Why nobody is let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuthenticationError {
    /// Nothing was credential, or something we do not know.
    InvalidCredential,
    /// The book cannot be read.
    TokenStoreUnavailable,
    /// So long is to be waited first.
    RateLimited(Duration),
}

/// The good tokens, as they were when the book was read.
struct TokenCache {
    by_hash: HashMap<Digest32, Token>,
    by_cookie: HashMap<Digest32, Digest32>,
    /// Begun to be read then, which was this time of the book's clock.
    read: Instant,
    time: Timestamp,
}

impl TokenCache {
    /// Returns what the book's clock shows.
    fn store_time(&self) -> Timestamp {
        let passed = i64::try_from(self.read.elapsed().as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(self.time.as_millis().saturating_add(passed))
    }

    fn find_valid(&self, credential: Credential<'_>) -> Option<&Token> {
        let hash = match credential {
            Credential::Secret(secret) => secret_hash(secret),
            Credential::Cookie(value) => *self.by_cookie.get(&secret_hash(value))?,
            Credential::Missing => return None,
        };
        self.by_hash
            .get(&hash)
            .filter(|token| token.state_at(self.store_time()) == TokenState::Valid)
    }
}

pub(crate) struct Authenticator {
    workspace: Arc<dyn Workspace>,
    /// The digest of the secret we were started with; nothing when none is asked for.
    launch: Option<Digest32>,
    /// Whether whoever shows it decides as a person.
    decides: bool,
    known: Mutex<Option<Arc<TokenCache>>>,
    /// Held by who reads the book; with when that failed last.
    reading: tokio::sync::Mutex<Option<Instant>>,
    /// The engine keeps no book.
    has_no_store: AtomicBool,
}

impl Authenticator {
    pub(crate) fn new(workspace: Arc<dyn Workspace>, launch: Option<&str>, decides: bool) -> Self {
        Self {
            workspace,
            launch: launch.map(secret_hash),
            decides,
            known: Mutex::default(),
            reading: tokio::sync::Mutex::default(),
            has_no_store: AtomicBool::new(false),
        }
    }

    /// Finds out who shows this. `check_rate` is asked before an unknown token costs anything.
    pub(crate) async fn authenticate(
        &self,
        credential: Credential<'_>,
        check_rate: impl FnOnce() -> Result<(), Duration>,
    ) -> Result<AuthenticatedPrincipal, AuthenticationError> {
        if self.is_launch_credential(credential) {
            return Ok(self.launch_principal());
        }
        let found = match self.may_be_stored(credential) {
            true => self.look_up_token(credential, check_rate).await,
            // Something was credential, and it is not what we were started with.
            false if credential != Credential::Missing => check_rate()
                .map_err(AuthenticationError::RateLimited)
                .map(|()| None),
            false => Ok(None),
        };
        match found {
            Ok(Some(admitted)) => Ok(admitted),
            // Where none is asked for, a wrong one is no worse than none.
            _ if self.launch.is_none() => Ok(self.launch_principal()),
            Ok(None) => Err(AuthenticationError::InvalidCredential),
            Err(no) => Err(no),
        }
    }

    /// Says whether a token of the book is still good.
    pub(crate) async fn is_token_valid(&self, token: u64) -> bool {
        let known = self.cached_tokens(None).await;
        known.is_ok_and(|known| {
            let now = known.store_time();
            known
                .by_hash
                .values()
                .any(|one| one.id == token && one.state_at(now) == TokenState::Valid)
        })
    }

    /// Returns what a browser gets in place of a secret that was let in.
    pub(crate) fn cookie_for_secret(&self, secret: &str) -> String {
        match self
            .launch_cookie()
            .filter(|_| self.is_launch_credential(Credential::Secret(secret)))
        {
            Some(cookie) => cookie,
            None => cookie_value(secret),
        }
    }

    /// Returns whoever started the server: there is no token between us.
    fn launch_principal(&self) -> AuthenticatedPrincipal {
        match self.decides {
            true => AuthenticatedPrincipal {
                principal: self.workspace.local_person(),
                scope: Scope::Admin,
                token: None,
            },
            // A server that nobody vouches for never acts as a person; tokens that people created still do.
            false => AuthenticatedPrincipal {
                principal: Principal::Agent {
                    host: "server".to_owned(),
                    session: "launch".to_owned(),
                },
                scope: Scope::Agent,
                token: None,
            },
        }
    }

    fn launch_cookie(&self) -> Option<String> {
        let launch = self.launch.as_ref()?;
        Some(Digest32::of_bytes(format!("a browser that showed {launch}").as_bytes()).to_string())
    }

    fn is_launch_credential(&self, credential: Credential<'_>) -> bool {
        match credential {
            Credential::Secret(secret) => self
                .launch
                .is_some_and(|launch| is_equal_constant_time(&launch, &secret_hash(secret))),
            Credential::Cookie(value) => self.launch_cookie().is_some_and(|cookie| {
                is_equal_constant_time(&secret_hash(&cookie), &secret_hash(value))
            }),
            Credential::Missing => false,
        }
    }

    /// Says whether this has the form of something in the book.
    fn may_be_stored(&self, credential: Credential<'_>) -> bool {
        let digits = match credential {
            Credential::Secret(secret) => secret.strip_prefix(SECRET_PREFIX),
            Credential::Cookie(value) => Some(value),
            Credential::Missing => None,
        };
        digits.is_some_and(|digits| digits.parse::<Digest32>().is_ok())
            && !self.has_no_store.load(Ordering::Relaxed)
    }

    async fn look_up_token(
        &self,
        credential: Credential<'_>,
        check_rate: impl FnOnce() -> Result<(), Duration>,
    ) -> Result<Option<AuthenticatedPrincipal>, AuthenticationError> {
        let asked = Instant::now();
        if let Some(token) = self.cached_tokens(None).await?.find_valid(credential) {
            return Ok(Some(token.authenticated_principal()));
        }
        check_rate().map_err(AuthenticationError::RateLimited)?;
        Ok(self
            .cached_tokens(Some(asked))
            .await?
            .find_valid(credential)
            .map(Token::authenticated_principal))
    }

    /// Returns what is known, read anew where it is old, or begun to be read before `after`.
    async fn cached_tokens(
        &self,
        after: Option<Instant>,
    ) -> Result<Arc<TokenCache>, AuthenticationError> {
        let held = || {
            self.known
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone()
        };
        let fresh = |known: &Arc<TokenCache>| {
            known.read.elapsed() < CACHE_TTL && after.is_none_or(|after| known.read >= after)
        };
        if let Some(known) = held().filter(fresh) {
            return Ok(known);
        }
        let mut failed = self.reading.lock().await;
        // Somebody else may have read it while we waited.
        if let Some(known) = held().filter(fresh) {
            return Ok(known);
        }
        let still_good =
            || held().filter(|known| after.is_none() && known.read.elapsed() < MAX_CACHE_AGE);
        if failed.is_some_and(|at| at.elapsed() < MIN_READ_INTERVAL) {
            return still_good().ok_or(AuthenticationError::TokenStoreUnavailable);
        }
        if let Some(rest) =
            held().and_then(|known| MIN_READ_INTERVAL.checked_sub(known.read.elapsed()))
        {
            tokio::time::sleep(rest).await;
        }
        let workspace = self.workspace.clone();
        match tokio::task::spawn_blocking(move || read_tokens(&*workspace)).await {
            Ok(Ok(Some(known))) => {
                let known = Arc::new(known);
                *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(known.clone());
                *failed = None;
                Ok(known)
            }
            Ok(Ok(None)) => {
                self.has_no_store.store(true, Ordering::Relaxed);
                Err(AuthenticationError::InvalidCredential)
            }
            _ => {
                *failed = Some(Instant::now());
                still_good().ok_or(AuthenticationError::TokenStoreUnavailable)
            }
        }
    }
}

fn read_tokens(workspace: &dyn Workspace) -> Result<Option<TokenCache>, application::Failure> {
    let (read, mut known) = (Instant::now(), None);
    workspace.with_token_store(&mut |store, time| {
        let good = store.list_unrevoked_tokens()?;
        known = Some(TokenCache {
            by_cookie: good
                .iter()
                .map(|token| (token.cookie, token.hash))
                .collect(),
            by_hash: good.into_iter().map(|token| (token.hash, token)).collect(),
            read,
            time,
        });
        Ok(())
    })?;
    Ok(known)
}

/// Compares digests in a time that does not tell how much of them is the same.
fn is_equal_constant_time(a: &Digest32, b: &Digest32) -> bool {
    a.0.iter()
        .zip(b.0)
        .fold(0, |difference, (a, b)| difference | (a ^ b))
        == 0
}
