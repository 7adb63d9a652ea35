//! OAuth 2.1 resource server: access tokens of one issuer, verified here with the issuer's keys.
//!
//! It never sees a password or starts a sign-in: the client gets its token from the issuer, which
//! the protected resource metadata names. Which claims are accepted is decided by
//! `domain::access_token`.

mod issuer_keys;
mod key_set;
mod signed_token;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use domain::access_token::{AccessTokenProblem, AccessTokenRules, judge_claims};
use domain::authorization::AuthenticatedPrincipal;
use domain::ports::Clock;
use domain::time::Timestamp;
use serde_json::Value;

use self::issuer_keys::IssuerKeys;
use self::key_set::Verification;
use self::signed_token::SignedToken;
use crate::authentication::AuthenticationError;

/// Reads the issuer's documents.
pub trait IssuerDocuments: fmt::Debug + Send + Sync {
    /// Returns the JSON document at a URL.
    ///
    /// # Errors
    /// The reason, for the operator of the server.
    fn fetch_json(&self, url: &str) -> Result<Value, String>;
}

/// The issuer whose access tokens a server accepts.
#[derive(Clone)]
pub struct OauthOptions {
    pub rules: AccessTokenRules,
    pub documents: Arc<dyn IssuerDocuments>,
    pub clock: Arc<dyn Clock + Send + Sync>,
}

impl fmt::Debug for OauthOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OauthOptions")
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

impl OauthOptions {
    /// Reads the issuer's keys once, to find a wrong address when the server starts.
    ///
    /// # Errors
    /// The reason.
    pub fn check_issuer(&self) -> Result<(), String> {
        issuer_keys::fetch_keys(&self.rules.issuer, &*self.documents).map(|_| ())
    }
}

/// Verifies access tokens.
pub(crate) struct TokenVerifier {
    rules: AccessTokenRules,
    clock: Arc<dyn Clock + Send + Sync>,
    keys: IssuerKeys,
}

impl TokenVerifier {
    pub(crate) fn new(options: &OauthOptions) -> Self {
        Self {
            rules: options.rules.clone(),
            clock: options.clock.clone(),
            keys: IssuerKeys::new(&options.rules.issuer, options.documents.clone()),
        }
    }

    /// Returns the current time.
    pub(crate) fn current_time(&self) -> Timestamp {
        self.clock.now()
    }

    /// Whether a secret has the format of access tokens. Neither stored tokens nor the start-up
    /// secret has.
    pub(crate) fn is_access_token(secret: &str) -> bool {
        secret.split('.').count() == 3
    }

    /// Verifies an access token. `check_rate` is called before an unknown key causes a read of the
    /// issuer's keys, and for forged tokens.
    pub(crate) async fn verify_token(
        &self,
        token: &str,
        check_rate: impl Fn() -> Result<(), Duration>,
    ) -> Result<AuthenticatedPrincipal, AuthenticationError> {
        let verified = self.verify_with_keys(token, &check_rate).await;
        // Not for one that has expired: its owner may share an address with a whole office.
        if let Err(AuthenticationError::AccessToken(
            AccessTokenProblem::Malformed | AccessTokenProblem::Signature,
        )) = verified
        {
            check_rate().map_err(AuthenticationError::RateLimited)?;
        }
        verified
    }

    async fn verify_with_keys(
        &self,
        token: &str,
        check_rate: &impl Fn() -> Result<(), Duration>,
    ) -> Result<AuthenticatedPrincipal, AuthenticationError> {
        let token = SignedToken::parse_compact(token)?;
        // Before the signature: a token of another issuer must not cause a read of our issuer's keys.
        if token.claims["iss"] != self.rules.issuer.as_str() {
            return Err(AccessTokenProblem::Issuer.into());
        }
        let now = self.clock.now();
        let keys = self.keys.cached_keys(now).await?;
        let mut verified = keys.verify_signature(&token);
        if verified == Verification::UnknownKey {
            check_rate().map_err(AuthenticationError::RateLimited)?;
            // The issuer may have rotated its keys since they were read.
            let keys = self.keys.keys_read_again(now, &keys).await?;
            verified = keys.verify_signature(&token);
        }
        match verified {
            Verification::Valid => Ok(judge_claims(&token.claims, &self.rules, now)?),
            Verification::UnknownKey => Err(AccessTokenProblem::UnknownKey.into()),
            Verification::Invalid => Err(AccessTokenProblem::Signature.into()),
        }
    }
}

impl From<AccessTokenProblem> for AuthenticationError {
    fn from(problem: AccessTokenProblem) -> Self {
        Self::AccessToken(problem)
    }
}
