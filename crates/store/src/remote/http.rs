//! HTTP client of a team server: blocking, one keep-alive connection, no async runtime.
//!
//! Repeats only a fetch on a stale connection; retries with back-off and the offline queue are up
//! to the remote store.

use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::exchange::{Greeting, MOST_SENT, Receipt, Sending};
use domain::ids::{Digest32, OperationId};
use domain::settings::ServerAddress;
use serde_json::Value;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body, Error, Timeout};

use super::server::{Fetched, TeamServer, Trouble};

/// Path of the operations endpoint.
const PATH: &str = "/api/team/operations";

/// Maximum response size; more than a page and the largest operation together.
const MOST_READ: u64 = 4 * MOST_SENT as u64;

/// A request that fails this fast hit a closed keep-alive connection.
const AT_ONCE: Duration = Duration::from_millis(50);

/// A team server reached over HTTP.
pub(crate) struct HttpServer {
    agent: Agent,
    address: ServerAddress,
    /// Connection timeout; the other timeouts are multiples of it.
    patience: Duration,
}

impl HttpServer {
    /// Returns a client without connecting yet; `patience` is the connection timeout.
    pub(crate) fn at(address: &ServerAddress, patience: Duration) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // Redirects would carry the token to another server.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("throughline/", env!("CARGO_PKG_VERSION")))
            // Servers close idle connections after half a minute; reusing one then fails.
            .max_idle_age(Duration::from_secs(10))
            .timeout_resolve(Some(patience))
            .timeout_connect(Some(patience))
            .timeout_recv_response(Some(patience * 2))
            // The first pull of a long history takes several pages of megabytes over a slow line.
            .timeout_recv_body(Some(patience * 20))
            .timeout_send_body(Some(patience * 20));
        let config = match address.url().starts_with("https://") {
            true => config.https_only(true).tls_config(
                TlsConfig::builder()
                    .root_certs(certificates())
                    .unversioned_rustls_crypto_provider(Arc::new(
                        rustls::crypto::ring::default_provider(),
                    ))
                    .build(),
            ),
            // Plain HTTP is only allowed to this machine, which a proxy elsewhere could not reach.
            false => config.proxy(None),
        };
        Self {
            agent: config.build().new_agent(),
            address: address.clone(),
            patience,
        }
    }

    /// Returns the URL of the operations endpoint.
    fn url(&self) -> String {
        format!("{}{PATH}", self.address.url())
    }

    /// Returns the `Authorization` header.
    fn authorization(&self) -> String {
        format!("Bearer {}", self.address.reveal_token())
    }
}

/// Loads the root certificates the system trusts, which include a company's own.
fn certificates() -> RootCerts {
    let found = rustls_native_certs::load_native_certs().certs;
    RootCerts::from(
        found
            .iter()
            .map(|certificate| Certificate::from_der(certificate).to_owned()),
    )
}

impl TeamServer for HttpServer {
    fn shown(&self) -> &str {
        self.address.url()
    }

    fn identity(&self) -> Digest32 {
        Digest32::of(
            format!(
                "contact {} {}",
                self.address.url(),
                self.address.reveal_token()
            )
            .as_bytes(),
        )
    }

    // Another prefix than `client_identity`, which is stored in a file: the seal must not be
    // derivable from anything on disk but the token.
    fn seal(&self) -> Digest32 {
        Digest32::of(
            format!(
                "seal {} {}",
                self.address.url(),
                self.address.reveal_token()
            )
            .as_bytes(),
        )
    }

    fn fetch(
        &self,
        after: OperationId,
        hash: Option<Digest32>,
        wait: Duration,
    ) -> Result<Fetched, Trouble> {
        let mut url = format!("{}?after={after}", self.url());
        if let Some(hash) = hash {
            url.push_str(&format!("&hash={hash}"));
        }
        if !wait.is_zero() {
            url.push_str(&format!("&wait={}", wait.as_millis()));
        }
        // A closure, because a request is consumed by its call and may have to be repeated.
        let ask = || {
            let request = self
                .agent
                .get(&url)
                .header("authorization", &self.authorization());
            read(
                request
                    .config()
                    .timeout_recv_response(Some(self.patience * 2 + wait))
                    .build()
                    .call(),
            )
        };
        let begun = Instant::now();
        let (status, text) = match ask() {
            // The idle connection was closed by the peer, which says nothing about the server. A
            // fetch is safe to repeat.
            Err(Trouble::Silent {
                may_have_arrived: true,
                ..
            }) if begun.elapsed() < AT_ONCE => ask()?,
            other => other?,
        };
        match status {
            200 => page(&text),
            // Other conflicts (a proxy's 409) must not be taken for a diverged history.
            409 if matches!(serde_json::from_str(&text), Ok(Receipt::Diverged { .. })) => {
                Ok(Fetched::Diverged)
            }
            _ => Err(self.refusal(status, &text)),
        }
    }

    fn send(&self, sending: &Sending, lines: &[String]) -> Result<Receipt, Trouble> {
        let head = serde_json::to_string(sending).map_err(|error| refused(error.to_string()))?;
        let mut body =
            Vec::with_capacity(head.len() + 1 + lines.iter().map(String::len).sum::<usize>());
        body.extend_from_slice(head.as_bytes());
        body.push(b'\n');
        lines
            .iter()
            .for_each(|line| body.extend_from_slice(line.as_bytes()));
        if body.len() > MOST_SENT {
            let why = format!(
                "{} bytes exceed its request limit ({MOST_SENT} bytes)",
                body.len()
            );
            return Err(refused(why));
        }
        let request = self
            .agent
            .post(&self.url())
            .header("authorization", &self.authorization())
            .header("content-type", "application/x-ndjson");
        // The server verifies the facts before it responds, which takes time for a large cascade.
        let request = request
            .config()
            .timeout_recv_response(Some(self.patience * 4))
            .build();
        let (status, text) = read(request.send(&body[..]))?;
        match status {
            200 | 409 => match serde_json::from_str(&text) {
                Ok(receipt) => Ok(receipt),
                Err(_) => Err(self.refusal(status, &text)),
            },
            _ => Err(self.refusal(status, &text)),
        }
    }
}

/// Parses a page: the greeting, then journal lines.
fn page(text: &str) -> Result<Fetched, Trouble> {
    let unreadable = |what: &str| refused(format!("its response cannot be parsed: {what}"));
    let mut lines = text.split_inclusive('\n');
    let greeting: Greeting = lines
        .next()
        .and_then(|line| serde_json::from_str(line).ok())
        .ok_or_else(|| unreadable("it does not start with a team server's greeting"))?;
    let lines: Vec<String> = lines.map(str::to_owned).collect();
    // Checked here, because a truncated body can end between two chunks without an HTTP error.
    match lines.last().is_some_and(|line| !line.ends_with('\n')) {
        true => Err(Trouble::Silent {
            why: "its response was truncated".to_owned(),
            may_have_arrived: false,
        }),
        false => Ok(Fetched::Page { greeting, lines }),
    }
}

/// Reads a whole response.
fn read(answer: Result<ureq::http::Response<Body>, Error>) -> Result<(u16, String), Trouble> {
    let mut answer = answer.map_err(|error| silent(&error))?;
    let status = answer.status().as_u16();
    let text = answer
        .body_mut()
        .with_config()
        .limit(MOST_READ)
        .read_to_string()
        .map_err(|error| silent(&error))?;
    Ok((status, text))
}

/// Classifies a transport error: refused, or unreachable with or without a chance that the request
/// arrived.
fn silent(error: &Error) -> Trouble {
    let never_connected = match error {
        Error::ConnectionFailed
        | Error::HostNotFound
        | Error::Timeout(Timeout::Connect | Timeout::Resolve) => true,
        Error::Io(error) => error.kind() == std::io::ErrorKind::ConnectionRefused,
        _ => false,
    };
    // A certificate that does not verify is a refusal, never a reason to work offline: it may be an
    // attack.
    if let Error::Io(io) = error
        && io
            .get_ref()
            .is_some_and(|inner| inner.is::<rustls::Error>())
    {
        return refused(io.to_string());
    }
    match error {
        Error::Tls(_) | Error::Rustls(_) | Error::BadUri(_) => refused(error.to_string()),
        other => Trouble::Silent {
            why: other.to_string(),
            may_have_arrived: !never_connected,
        },
    }
}

/// Returns a refusal without next steps.
fn refused(why: String) -> Trouble {
    Trouble::Refused {
        why,
        next_steps: Vec::new(),
    }
}

/// The body of an error response: a failure with next steps, or one sentence.
struct Said {
    message: String,
    next_steps: Vec<String>,
}

/// Parses the body of an error response.
fn said(text: &str) -> Option<Said> {
    let body: Value = serde_json::from_str(text).ok()?;
    let error = &body["error"];
    let message = error.as_str().or(error["message"].as_str())?.to_owned();
    let steps = error["next_steps"].as_array().into_iter().flatten();
    Some(Said {
        message,
        next_steps: steps
            .filter_map(|step| step.as_str().map(str::to_owned))
            .collect(),
    })
}

impl HttpServer {
    /// Classifies an error response.
    fn refusal(&self, status: u16, text: &str) -> Trouble {
        let said = said(text);
        let url = self.shown();
        let (why, next_steps) = match (status, said) {
            (401, _) => (
                "it rejects this token (unknown or revoked)".to_owned(),
                vec![format!(
                    "tl join {url} --token-file FILE   # with a valid token"
                )],
            ),
            // A gateway without a backend, or an overloaded server: retried later like an
            // unreachable one. With 429 the request was certainly not processed.
            (429 | 500..=599, said) => {
                let why = said.map_or_else(|| format!("HTTP status {status}"), |said| said.message);
                return Trouble::Silent {
                    why,
                    may_have_arrived: status != 429,
                };
            }
            (_, Some(said)) => (said.message, said.next_steps),
            (404, None) => (
                "there is no team server at this address".to_owned(),
                Vec::new(),
            ),
            (300..=399, None) => (
                "it redirects to another address; use that one".to_owned(),
                Vec::new(),
            ),
            (_, None) => (format!("HTTP status {status}"), Vec::new()),
        };
        Trouble::Refused { why, next_steps }
    }
}
