//! HTTP client of a team server: blocking, one keep-alive connection, no async runtime.
//!
//! Repeats only a fetch on a stale connection; retries with back-off and the offline queue are up
//! to the remote store.

use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::ids::{Digest32, OperationId};
use domain::settings::ServerAddress;
use domain::sync_protocol::{MAX_PUSH_BYTES, PullHeader, PushHeader, PushOutcome};
use serde_json::Value;
use ureq::config::ConfigBuilder;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::typestate::AgentScope;
use ureq::{Agent, Body, Error, Timeout};

use super::server::{FetchOutcome, ServerFault, TeamServer};

/// Path of the operations endpoint.
const OPERATIONS_PATH: &str = "/api/team/operations";

/// Maximum response size; more than a page and the largest operation together.
const MAX_RESPONSE_BYTES: u64 = 4 * MAX_PUSH_BYTES as u64;

/// A request that fails this fast hit a closed keep-alive connection.
const STALE_CONNECTION_WINDOW: Duration = Duration::from_millis(50);

/// A team server reached over HTTP.
pub(crate) struct HttpServer {
    agent: Agent,
    address: ServerAddress,
    /// Connection timeout; the other timeouts are multiples of it.
    patience: Duration,
}

impl HttpServer {
    /// Returns a client without connecting yet; `patience` is the connection timeout.
    pub(crate) fn new(address: &ServerAddress, patience: Duration) -> Self {
        let config = configure_client(address.url())
            // Servers close idle connections after half a minute; reusing one then fails.
            .max_idle_age(Duration::from_secs(10))
            .timeout_resolve(Some(patience))
            .timeout_connect(Some(patience))
            .timeout_recv_response(Some(patience * 2))
            // The first pull of a long history takes several pages of megabytes over a slow line.
            .timeout_recv_body(Some(patience * 20))
            .timeout_send_body(Some(patience * 20));
        Self {
            agent: config.build().new_agent(),
            address: address.clone(),
            patience,
        }
    }

    /// Returns the URL of the operations endpoint.
    fn operations_url(&self) -> String {
        format!("{}{OPERATIONS_PATH}", self.address.url())
    }

    /// Returns the `Authorization` header.
    fn authorization_header(&self) -> String {
        format!("Bearer {}", self.address.reveal_token())
    }
}

/// Returns the settings that every client of ours has: the system's certificates, and no redirects.
pub(crate) fn configure_client(url: &str) -> ConfigBuilder<AgentScope> {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        // Redirects would carry a token to another server.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent(concat!("throughline/", env!("CARGO_PKG_VERSION")));
    match url.starts_with("https://") {
        true => config.https_only(true).tls_config(
            TlsConfig::builder()
                .root_certs(load_root_certificates())
                .unversioned_rustls_crypto_provider(Arc::new(
                    rustls::crypto::ring::default_provider(),
                ))
                .build(),
        ),
        // Plain HTTP is only allowed to this machine, which a proxy elsewhere could not reach.
        false => config.proxy(None),
    }
}

/// Loads the root certificates the system trusts, which include a company's own.
fn load_root_certificates() -> RootCerts {
    let found = rustls_native_certs::load_native_certs().certs;
    RootCerts::from(
        found
            .iter()
            .map(|certificate| Certificate::from_der(certificate).to_owned()),
    )
}

impl TeamServer for HttpServer {
    fn display_name(&self) -> &str {
        self.address.url()
    }

    fn client_identity(&self) -> Digest32 {
        Digest32::of_bytes(
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
    fn seal_key(&self) -> Digest32 {
        Digest32::of_bytes(
            format!(
                "seal {} {}",
                self.address.url(),
                self.address.reveal_token()
            )
            .as_bytes(),
        )
    }

    fn fetch_operations(
        &self,
        after: OperationId,
        hash: Option<Digest32>,
        wait: Duration,
    ) -> Result<FetchOutcome, ServerFault> {
        let mut url = format!("{}?after={after}", self.operations_url());
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
                .header("authorization", &self.authorization_header());
            read_response(
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
            Err(ServerFault::Silent {
                may_have_arrived: true,
                ..
            }) if begun.elapsed() < STALE_CONNECTION_WINDOW => ask()?,
            other => other?,
        };
        match status {
            200 => parse_operations_page(&text),
            // Other conflicts (a proxy's 409) must not be taken for a diverged history.
            409 if matches!(
                serde_json::from_str(&text),
                Ok(PushOutcome::Diverged { .. })
            ) =>
            {
                Ok(FetchOutcome::Diverged)
            }
            _ => Err(self.classify_refusal(status, &text)),
        }
    }

    fn send_operations(
        &self,
        sending: &PushHeader,
        lines: &[String],
    ) -> Result<PushOutcome, ServerFault> {
        let head = serde_json::to_string(sending)
            .map_err(|error| refusal_without_steps(error.to_string()))?;
        let mut body =
            Vec::with_capacity(head.len() + 1 + lines.iter().map(String::len).sum::<usize>());
        body.extend_from_slice(head.as_bytes());
        body.push(b'\n');
        lines
            .iter()
            .for_each(|line| body.extend_from_slice(line.as_bytes()));
        if body.len() > MAX_PUSH_BYTES {
            let why = format!(
                "{} bytes exceed its request limit ({MAX_PUSH_BYTES} bytes)",
                body.len()
            );
            return Err(refusal_without_steps(why));
        }
        let request = self
            .agent
            .post(&self.operations_url())
            .header("authorization", &self.authorization_header())
            .header("content-type", "application/x-ndjson");
        // The server verifies the facts before it responds, which takes time for a large cascade.
        let request = request
            .config()
            .timeout_recv_response(Some(self.patience * 4))
            .build();
        let (status, text) = read_response(request.send(&body[..]))?;
        match status {
            200 | 409 => match serde_json::from_str(&text) {
                Ok(receipt) => Ok(receipt),
                Err(_) => Err(self.classify_refusal(status, &text)),
            },
            _ => Err(self.classify_refusal(status, &text)),
        }
    }
}

/// Parses a page: the greeting, then journal lines.
fn parse_operations_page(text: &str) -> Result<FetchOutcome, ServerFault> {
    let unreadable =
        |what: &str| refusal_without_steps(format!("its response cannot be parsed: {what}"));
    let mut lines = text.split_inclusive('\n');
    let greeting: PullHeader = lines
        .next()
        .and_then(|line| serde_json::from_str(line).ok())
        .ok_or_else(|| unreadable("it does not start with a team server's greeting"))?;
    let lines: Vec<String> = lines.map(str::to_owned).collect();
    // Checked here, because a truncated body can end between two chunks without an HTTP error.
    match lines.last().is_some_and(|line| !line.ends_with('\n')) {
        true => Err(ServerFault::Silent {
            why: "its response was truncated".to_owned(),
            may_have_arrived: false,
        }),
        false => Ok(FetchOutcome::Page { greeting, lines }),
    }
}

/// Reads a whole response.
fn read_response(
    answer: Result<ureq::http::Response<Body>, Error>,
) -> Result<(u16, String), ServerFault> {
    let mut answer = answer.map_err(|error| map_transport_error(&error))?;
    let status = answer.status().as_u16();
    let text = answer
        .body_mut()
        .with_config()
        .limit(MAX_RESPONSE_BYTES)
        .read_to_string()
        .map_err(|error| map_transport_error(&error))?;
    Ok((status, text))
}

/// Classifies a transport error: refused, or unreachable with or without a chance that the request
/// arrived.
fn map_transport_error(error: &Error) -> ServerFault {
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
        return refusal_without_steps(io.to_string());
    }
    match error {
        Error::Tls(_) | Error::Rustls(_) | Error::BadUri(_) => {
            refusal_without_steps(error.to_string())
        }
        other => ServerFault::Silent {
            why: other.to_string(),
            may_have_arrived: !never_connected,
        },
    }
}

/// Returns a refusal without next steps.
fn refusal_without_steps(why: String) -> ServerFault {
    ServerFault::Refused {
        why,
        next_steps: Vec::new(),
    }
}

/// The body of an error response: a failure with next steps, or one sentence.
struct ErrorBody {
    message: String,
    next_steps: Vec<String>,
}

/// Parses the body of an error response.
fn parse_error_body(text: &str) -> Option<ErrorBody> {
    let body: Value = serde_json::from_str(text).ok()?;
    let error = &body["error"];
    let message = error.as_str().or(error["message"].as_str())?.to_owned();
    let steps = error["next_steps"].as_array().into_iter().flatten();
    Some(ErrorBody {
        message,
        next_steps: steps
            .filter_map(|step| step.as_str().map(str::to_owned))
            .collect(),
    })
}

impl HttpServer {
    /// Classifies an error response.
    fn classify_refusal(&self, status: u16, text: &str) -> ServerFault {
        let said = parse_error_body(text);
        let url = self.display_name();
        let (why, next_steps) = match (status, said) {
            (401, _) => (
                "it rejects this token (unknown or revoked)".to_owned(),
                vec![format!(
                    "tl team join {url} --token-file FILE   # with a valid token"
                )],
            ),
            // A gateway without a backend, or an overloaded server: retried later like an
            // unreachable one. With 429 the request was certainly not processed.
            (429 | 500..=599, said) => {
                let why = said.map_or_else(|| format!("HTTP status {status}"), |said| said.message);
                return ServerFault::Silent {
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
        ServerFault::Refused { why, next_steps }
    }
}
