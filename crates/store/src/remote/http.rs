//! The same over HTTP: one connection, kept open, no runtime.

use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::exchange::{Greeting, MOST_SENT, Receipt, Sending};
use domain::ids::{Digest32, OperationId};
use domain::settings::ServerAddress;
use serde_json::Value;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body, Error, Timeout};

use super::server::{Fetched, TeamServer, Trouble};

/// Where every server has its history.
const PATH: &str = "/api/team/operations";

/// More than a page and the largest operation together.
const MOST_READ: u64 = 4 * MOST_SENT as u64;

/// What fails this fast was not even tried.
const AT_ONCE: Duration = Duration::from_millis(50);

/// A server that is reached by HTTP.
pub(crate) struct HttpServer {
    agent: Agent,
    address: ServerAddress,
    /// How long an answer may take.
    patience: Duration,
}

impl HttpServer {
    /// Returns a server, without asking it anything yet; `patience` is how long to try to connect.
    pub(crate) fn at(address: &ServerAddress, patience: Duration) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // The token is for this server alone.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("throughline/", env!("CARGO_PKG_VERSION")))
            // A server closes a connection that says nothing for half a minute.
            .max_idle_age(Duration::from_secs(10))
            .timeout_resolve(Some(patience))
            .timeout_connect(Some(patience))
            .timeout_recv_response(Some(patience * 2))
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
            // This machine: a proxy elsewhere could not reach it.
            false => config.proxy(None),
        };
        Self {
            agent: config.build().new_agent(),
            address: address.clone(),
            patience,
        }
    }

    fn url(&self) -> String {
        format!("{}{PATH}", self.address.url())
    }

    fn authorization(&self) -> String {
        format!("Bearer {}", self.address.reveal_token())
    }
}

/// The certificates this system trusts.
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
            // The connection was closed while it was not used; that says nothing of the server.
            Err(Trouble::Silent {
                may_have_arrived: true,
                ..
            }) if begun.elapsed() < AT_ONCE => ask()?,
            other => other?,
        };
        match status {
            200 => page(&text),
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
                "{} bytes are more than it takes at once ({MOST_SENT})",
                body.len()
            );
            return Err(refused(why));
        }
        let request = self
            .agent
            .post(&self.url())
            .header("authorization", &self.authorization())
            .header("content-type", "application/x-ndjson");
        // A cascade over a large tree is checked before it is answered.
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

fn page(text: &str) -> Result<Fetched, Trouble> {
    let unreadable = |what: &str| refused(format!("its answer cannot be read: {what}"));
    let mut lines = text.split_inclusive('\n');
    let greeting: Greeting = lines
        .next()
        .and_then(|line| serde_json::from_str(line).ok())
        .ok_or_else(|| unreadable("it does not begin as that of a team server"))?;
    let lines: Vec<String> = lines.map(str::to_owned).collect();
    match lines.last().is_some_and(|line| !line.ends_with('\n')) {
        true => Err(Trouble::Silent {
            why: "its answer was cut off".to_owned(),
            may_have_arrived: false,
        }),
        false => Ok(Fetched::Page { greeting, lines }),
    }
}

/// Reads an answer to its end.
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

/// Says what became of a request that got no answer.
fn silent(error: &Error) -> Trouble {
    let never_connected = match error {
        Error::ConnectionFailed
        | Error::HostNotFound
        | Error::Timeout(Timeout::Connect | Timeout::Resolve) => true,
        Error::Io(error) => error.kind() == std::io::ErrorKind::ConnectionRefused,
        _ => false,
    };
    // Whom it cannot be proved to be is nobody we talk to.
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

fn refused(why: String) -> Trouble {
    Trouble::Refused {
        why,
        next_steps: Vec::new(),
    }
}

/// What a server says beside a status: in a use case's words, or in one sentence.
struct Said {
    message: String,
    next_steps: Vec<String>,
}

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
    /// Reads an answer that is no yes.
    fn refusal(&self, status: u16, text: &str) -> Trouble {
        let said = said(text);
        let url = self.shown();
        let (why, next_steps) = match (status, said) {
            (401, _) => (
                "it does not know this token".to_owned(),
                vec![format!(
                    "tl join {url} --token-file FILE   # with one that counts"
                )],
            ),
            // A proxy that finds nobody behind it, or a server that has too much to do.
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
                "it leads elsewhere; give the address it leads to".to_owned(),
                Vec::new(),
            ),
            (_, None) => (format!("HTTP status {status}"), Vec::new()),
        };
        Trouble::Refused { why, next_steps }
    }
}
