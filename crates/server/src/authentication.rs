//! Authentication: the server's start-up secret, a stored token, a session cookie for either, or an
//! access token of the OAuth issuer.
//!
//! Valid tokens are cached for a second, so most requests need no database. An unknown token may
//! have been created a moment ago, so it causes another read of the token store, but all of them
//! together at most ten per second. It fails closed: without a readable token store nobody gets in.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use application::Workspace;
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, COOKIE};
use domain::access_token::AccessTokenProblem;
use domain::authorization::{AuthenticatedPrincipal, CredentialKind, Scope};
use domain::ids::{Digest32, Principal};
use domain::time::Timestamp;
use domain::token::{SECRET_PREFIX, Token, TokenState, cookie_value, secret_hash};

use crate::oauth::TokenVerifier;
use crate::secret::generate_secret;
use crate::serve::ServerOptions;

/// Age up to which the cached tokens are used without reading the token store.
const CACHE_TTL: Duration = Duration::from_secs(1);
/// Age up to which they are used while the token store cannot be read. A revoked token stays valid
/// no longer than this.
const MAX_CACHE_AGE: Duration = Duration::from_secs(2);
/// Minimum time between two reads of the token store for unknown tokens.
const MIN_READ_INTERVAL: Duration = Duration::from_millis(100);

/// The credential of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Credential<'r> {
    Secret(&'r str),
    Cookie(&'r str),
    Missing,
}

impl<'r> Credential<'r> {
    /// Returns the bearer token in the `Authorization` header.
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

    /// Returns the cookie called `name`.
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

/// Why a request is not authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuthenticationError {
    /// No credential, or an unknown, expired or revoked one.
    InvalidCredential,
    /// An access token that is not accepted.
    AccessToken(AccessTokenProblem),
    /// The token store cannot be read.
    TokenStoreUnavailable,
    /// The keys of the OAuth issuer cannot be read.
    IssuerUnavailable,
    /// Too many requests; the time until the next one is allowed.
    RateLimited(Duration),
}

/// The valid tokens at the time the token store was read.
struct TokenCache {
    by_hash: HashMap<Digest32, Token>,
    by_cookie: HashMap<Digest32, Digest32>,
    /// When the read began, here and by the token store's clock. Tokens expire by the latter: the
    /// clocks of two servers may differ.
    read: Instant,
    time: Timestamp,
}

impl TokenCache {
    /// Returns the current time by the token store's clock.
    fn store_time(&self) -> Timestamp {
        let passed = i64::try_from(self.read.elapsed().as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(self.time.as_millis().saturating_add(passed))
    }

    fn find_valid(&self, credential: Credential<'_>) -> Option<&Token> {
        let hash = match credential {
            Credential::Secret(secret) => secret_hash(secret),
            // A cookie value is hashed before the lookup, like a secret: the store holds no value
            // that a browser could send.
            Credential::Cookie(value) => *self.by_cookie.get(&secret_hash(value))?,
            Credential::Missing => return None,
        };
        self.by_hash
            .get(&hash)
            .filter(|token| token.state_at(self.store_time()) == TokenState::Valid)
    }
}

/// Digests of the cookies of browsers that signed in with the start-up secret, kept across
/// restarts of the server.
pub trait BrowserStore: std::fmt::Debug + Send + Sync {
    /// Returns the digests of the valid cookies.
    fn load_cookies(&self) -> Vec<Digest32>;

    /// Keeps the digest of a new cookie.
    fn add_cookie(&self, cookie: Digest32);
}

/// The kept browsers, with those that signed in since.
struct KeptBrowsers {
    store: Arc<dyn BrowserStore>,
    known: Mutex<HashSet<Digest32>>,
}

impl KeptBrowsers {
    fn load_browsers(store: Arc<dyn BrowserStore>) -> Self {
        let known = Mutex::new(store.load_cookies().into_iter().collect());
        Self { store, known }
    }

    fn has_cookie(&self, cookie: &str) -> bool {
        // By digest, like stored tokens: an attacker cannot choose it.
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.contains(&secret_hash(cookie))
    }

    /// Returns the value of a new cookie, of which only the digest is kept.
    fn sign_in(&self) -> String {
        let value = generate_secret();
        let digest = secret_hash(&value);
        self.store.add_cookie(digest);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(digest);
        value
    }
}

/// Authenticates requests.
pub(crate) struct Authenticator {
    workspace: Arc<dyn Workspace>,
    /// Digest of the start-up secret; `None` if no token is required.
    launch: Option<Digest32>,
    /// Whether the start-up secret acts as the person who started the server.
    decides: bool,
    browsers: Option<KeptBrowsers>,
    oauth: Option<TokenVerifier>,
    known: Mutex<Option<Arc<TokenCache>>>,
    /// Held during a read, so that concurrent requests share one; the time of the last failure.
    reading: tokio::sync::Mutex<Option<Instant>>,
    /// The storage engine has no token store.
    has_no_store: AtomicBool,
}

impl Authenticator {
    pub(crate) fn new(workspace: Arc<dyn Workspace>, options: &ServerOptions) -> Self {
        // Kept browsers act as the person: a server that does not decide as one must not know them.
        let kept = options.browsers.clone().filter(|_| options.decides);
        Self {
            workspace,
            launch: options.token.as_deref().map(secret_hash),
            decides: options.decides,
            browsers: kept.map(KeptBrowsers::load_browsers),
            oauth: options.oauth.as_ref().map(TokenVerifier::new),
            known: Mutex::default(),
            reading: tokio::sync::Mutex::default(),
            has_no_store: AtomicBool::new(false),
        }
    }

    /// Returns the principal of a credential. `check_rate` is called before an unknown token causes
    /// a read of the token store.
    pub(crate) async fn authenticate(
        &self,
        credential: Credential<'_>,
        check_rate: impl Fn() -> Result<(), Duration>,
    ) -> Result<AuthenticatedPrincipal, AuthenticationError> {
        // First, because it needs no database: the owner gets in while the token store is down.
        if self.is_launch_credential(credential) {
            return Ok(self.launch_principal());
        }
        let found = match (self.may_be_stored(credential), credential, &self.oauth) {
            (true, ..) => self.look_up_token(credential, check_rate).await,
            (false, Credential::Secret(secret), Some(oauth))
                if TokenVerifier::is_access_token(secret) =>
            {
                oauth.verify_token(secret, check_rate).await.map(Some)
            }
            (false, Credential::Missing, _) => Ok(None),
            // It cannot be in the token store, but guesses of the start-up secret are rate-limited
            // too.
            (false, ..) => check_rate()
                .map_err(AuthenticationError::RateLimited)
                .map(|()| None),
        };
        match found {
            Ok(Some(admitted)) => Ok(admitted),
            // No token is required (`--no-token`): a wrong one is treated like a missing one.
            _ if self.launch.is_none() && self.oauth.is_none() => Ok(self.launch_principal()),
            Ok(None) => Err(AuthenticationError::InvalidCredential),
            Err(no) => Err(no),
        }
    }

    /// Whether a credential that was accepted still is.
    pub(crate) async fn is_still_valid(&self, credential: CredentialKind) -> bool {
        match credential {
            CredentialKind::StartupSecret => true,
            CredentialKind::Token(token) => self.is_token_valid(token).await,
            CredentialKind::AccessToken { expires_at } => self
                .oauth
                .as_ref()
                .is_some_and(|oauth| oauth.current_time() < expires_at),
        }
    }

    /// Whether a stored token is still valid.
    async fn is_token_valid(&self, token: u64) -> bool {
        // By id, not by secret: an open stream does not keep its secret in memory.
        let known = self.cached_tokens(None).await;
        known.is_ok_and(|known| {
            let now = known.store_time();
            known
                .by_hash
                .values()
                .any(|one| one.id == token && one.state_at(now) == TokenState::Valid)
        })
    }

    /// Returns the cookie value for an accepted secret. It is random or derived from the secret, so
    /// that a stolen cookie does not reveal it.
    pub(crate) fn cookie_for_secret(&self, secret: &str) -> String {
        let launch = self
            .launch_cookie()
            .filter(|_| self.is_launch_credential(Credential::Secret(secret)));
        match (launch, &self.browsers) {
            (Some(_), Some(browsers)) => browsers.sign_in(),
            (Some(cookie), None) => cookie,
            (None, _) => cookie_value(secret),
        }
    }

    /// Returns the principal of the start-up secret.
    fn launch_principal(&self) -> AuthenticatedPrincipal {
        match self.decides {
            true => AuthenticatedPrincipal {
                principal: self.workspace.local_person(),
                scope: Scope::Admin,
                credential: CredentialKind::StartupSecret,
            },
            // Started by an agent or a service manager: the secret is known to a program, so it
            // must not act as a person. Stored tokens of people still do.
            false => AuthenticatedPrincipal {
                principal: Principal::Agent {
                    host: "server".to_owned(),
                    session: "launch".to_owned(),
                },
                scope: Scope::Agent,
                credential: CredentialKind::StartupSecret,
            },
        }
    }

    /// Returns the cookie value of the start-up secret, derived from its digest: it changes with
    /// every start that generates a new secret.
    fn launch_cookie(&self) -> Option<String> {
        let launch = self.launch.as_ref()?;
        Some(Digest32::of_bytes(format!("a browser that showed {launch}").as_bytes()).to_string())
    }

    fn is_launch_credential(&self, credential: Credential<'_>) -> bool {
        match credential {
            Credential::Secret(secret) => self
                .launch
                .is_some_and(|launch| is_equal_constant_time(&launch, &secret_hash(secret))),
            Credential::Cookie(value) => match &self.browsers {
                Some(browsers) => browsers.has_cookie(value),
                None => self.launch_cookie().is_some_and(|cookie| {
                    is_equal_constant_time(&secret_hash(&cookie), &secret_hash(value))
                }),
            },
            Credential::Missing => false,
        }
    }

    /// Whether a credential has the format of stored ones. Everything else is rejected without a
    /// read of the token store.
    fn may_be_stored(&self, credential: Credential<'_>) -> bool {
        // The prefix makes leaked tokens recognisable for secret scanners; cookies have none.
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
        // Taken before the first lookup: a token created between the two is found by the second,
        // whose read begins later than this.
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

    /// Returns the cached tokens, reading the token store if they are older than [`CACHE_TTL`] or
    /// than `after`.
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
        // Another request may have read it while this one waited for the lock.
        if let Some(known) = held().filter(fresh) {
            return Ok(known);
        }
        // A database that fails over is back within seconds; until `MAX_CACHE_AGE` the cached
        // tokens still count. Not for `after`: the unknown token may be a new one.
        let still_good =
            || held().filter(|known| after.is_none() && known.read.elapsed() < MAX_CACHE_AGE);
        if failed.is_some_and(|at| at.elapsed() < MIN_READ_INTERVAL) {
            return still_good().ok_or(AuthenticationError::TokenStoreUnavailable);
        }
        // Waits instead of rejecting: the token may have been created since the last read, and its
        // owner would get an error for a valid token.
        if let Some(rest) =
            held().and_then(|known| MIN_READ_INTERVAL.checked_sub(known.read.elapsed()))
        {
            tokio::time::sleep(rest).await;
        }
        // The store's ports are synchronous; a slow database must not block the runtime's threads.
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
            // Indexed by digest: a lookup by hash needs no constant-time comparison, because an
            // attacker cannot choose digests.
            by_hash: good.into_iter().map(|token| (token.hash, token)).collect(),
            read,
            time,
        });
        Ok(())
    })?;
    Ok(known)
}

/// Compares digests in constant time, so that the response time does not reveal a common prefix.
fn is_equal_constant_time(a: &Digest32, b: &Digest32) -> bool {
    a.0.iter()
        .zip(b.0)
        .fold(0, |difference, (a, b)| difference | (a ^ b))
        == 0
}
