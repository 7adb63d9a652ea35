//! HTTP transport: sends a request and reads the response in chunks, from the network or a
//! recording.

use std::collections::VecDeque;
use std::error::Error as _;
use std::time::Duration;

use reqwest::Url;
use serde_json::Value;

use crate::error::{ErrorClass, LlmError, LlmResult, TimeoutPhase};
use crate::recording::wire_tape::{BodyChunk, HttpExchange, WireTape};

/// HTTP headers with lower-case names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Headers(Vec<(String, String)>);

impl Headers {
    pub(crate) fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(
            pairs
                .into_iter()
                .map(|(name, value)| (name.to_lowercase(), value))
                .collect(),
        )
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

pub(crate) struct HttpRequest {
    pub(crate) url: Url,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

pub(crate) struct Transport {
    client: Option<reqwest::Client>,
    tape: Option<WireTape>,
}

/// A response as it arrives.
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    source: BodySource,
    /// Chunks so far, when recording.
    kept: Option<Vec<BodyChunk>>,
    begun: bool,
    broken: bool,
}

enum BodySource {
    Live(Box<reqwest::Response>),
    Recorded {
        chunks: VecDeque<BodyChunk>,
        broken: bool,
    },
}

impl Transport {
    /// Creates a transport to one URL. A replaying tape needs no network.
    pub(crate) fn new(url: &Url, connect: Duration, tape: Option<WireTape>) -> LlmResult<Self> {
        // No client is built for a replay: without certificates or a proxy it must work as well.
        if tape.as_ref().is_some_and(WireTape::is_replaying) {
            return Ok(Self { client: None, tape });
        }
        // Process-wide; fails if it is already installed, which is the same provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .user_agent("throughline")
            .connect_timeout(connect)
            // A redirect would send the key to another host.
            .redirect(reqwest::redirect::Policy::none())
            // Each call has its own runtime, so no connection can be reused by the next one.
            .pool_max_idle_per_host(0);
        // Otherwise reqwest uses the proxy variables for this machine's servers too.
        if is_local(url) {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| {
            ErrorClass::Setup
                .error(format!(
                    "cannot set up the HTTP client: {}",
                    render_error_chain(&error)
                ))
                .with_first_step("check the certificates of the system and the proxy variables")
        })?;
        Ok(Self {
            client: Some(client),
            tape,
        })
    }

    pub(crate) async fn send_request(&self, outgoing: &HttpRequest) -> LlmResult<HttpResponse> {
        let Some(client) = &self.client else {
            return self.replay_request(outgoing);
        };
        let mut request = client
            .post(outgoing.url.clone())
            .header("content-type", "application/json")
            .header("accept", "text/event-stream, application/json")
            .body(outgoing.body.to_string());
        for (name, value) in &outgoing.headers {
            request = request.header(name, value);
        }
        let response = request
            .send()
            .await
            .map_err(|error| classify_send_error(error, &outgoing.url))?;
        // Copied now, because reading the body consumes the response.
        let text = |value: &reqwest::header::HeaderValue| {
            String::from_utf8_lossy(value.as_bytes()).into_owned()
        };
        let headers = response
            .headers()
            .iter()
            .map(|(name, value)| (name.to_string(), text(value)));
        Ok(HttpResponse {
            status: response.status().as_u16(),
            headers: Headers::new(headers),
            source: BodySource::Live(Box::new(response)),
            kept: self.tape.as_ref().map(|_| Vec::new()),
            begun: false,
            broken: false,
        })
    }

    fn replay_request(&self, outgoing: &HttpRequest) -> LlmResult<HttpResponse> {
        let tape = self
            .tape
            .as_ref()
            .expect("BUG: a transport has a client or a tape that replays");
        let exchange = tape.take_exchange("POST", &recorded_path(&outgoing.url), &outgoing.body)?;
        Ok(HttpResponse {
            status: exchange.status,
            headers: Headers::new(exchange.headers),
            source: BodySource::Recorded {
                chunks: exchange.chunks.into(),
                broken: exchange.broken,
            },
            kept: None,
            begun: false,
            broken: false,
        })
    }

    /// Appends an exchange to the tape, if one is recording.
    pub(crate) fn record_exchange(
        &self,
        outgoing: &HttpRequest,
        incoming: HttpResponse,
    ) -> LlmResult<()> {
        let (Some(tape), Some(chunks)) = (&self.tape, incoming.kept) else {
            return Ok(());
        };
        tape.append_exchange(HttpExchange {
            method: "POST".to_owned(),
            place: recorded_path(&outgoing.url),
            body: outgoing.body.clone(),
            status: incoming.status,
            headers: incoming.headers.0,
            chunks,
            broken: incoming.broken,
        })
    }
}

impl HttpResponse {
    /// Returns the next chunk; `None` at the end.
    pub(crate) async fn next_chunk(&mut self) -> LlmResult<Option<Vec<u8>>> {
        let next = match &mut self.source {
            BodySource::Live(response) => response
                .chunk()
                .await
                .map(|chunk| chunk.map(|bytes| bytes.to_vec()))
                .map_err(|error| render_error_chain(&error)),
            BodySource::Recorded { chunks, broken } => match chunks.pop_front() {
                Some(chunk) => Ok(Some(chunk.into_bytes())),
                // A lost connection is part of the recording, so that tests can replay it.
                None if *broken => Err("as recorded".to_owned()),
                None => Ok(None),
            },
        };
        match next {
            Ok(chunk) => {
                if let (Some(kept), Some(chunk)) = (&mut self.kept, &chunk) {
                    // Chunk by chunk, because the boundaries are what parsers get wrong.
                    kept.push(BodyChunk::new(chunk));
                }
                // Decides about the class below: lost before the answer, or in the middle of it.
                self.begun |= chunk.is_some();
                Ok(chunk)
            }
            Err(why) => {
                self.broken = true;
                let (class, when) = if self.begun {
                    (ErrorClass::StreamEndedEarly, "in the middle of the answer")
                } else {
                    (ErrorClass::Network, "before the answer began")
                };
                Err(LlmError::new(
                    class,
                    format!("the connection was lost {when}: {why}"),
                ))
            }
        }
    }

    /// Returns the rest of the response as text, at most `most` bytes.
    pub(crate) async fn read_remaining_text(
        &mut self,
        max_bytes: usize,
        alive: &(dyn Fn() + Sync),
    ) -> LlmResult<String> {
        let mut bytes = Vec::new();
        while let Some(chunk) = self.next_chunk().await? {
            alive();
            bytes.extend_from_slice(&chunk);
            if bytes.len() > max_bytes {
                bytes.truncate(max_bytes);
                break;
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Returns path and query for a recording. Without the host, so that it replays against any base
/// URL, and without query parameters that may be keys.
fn recorded_path(url: &Url) -> String {
    let open = |name: &str| {
        !["key", "token", "secret", "sig", "pass"]
            .iter()
            .any(|word| name.to_lowercase().contains(word))
    };
    let query: Vec<String> = url
        .query_pairs()
        .filter(|(name, _)| open(name))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if query.is_empty() {
        url.path().to_owned()
    } else {
        format!("{}?{}", url.path(), query.join("&"))
    }
}

/// Whether the server is on this machine, and so not behind a proxy.
fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost"
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

fn classify_send_error(error: reqwest::Error, url: &Url) -> Box<LlmError> {
    let host = url.host_str().unwrap_or_default();
    // Asked before `without_url` consumes the error.
    let (builder, timeout) = (error.is_builder(), error.is_timeout());
    // The URL may carry a key in its query.
    let why = render_error_chain(&error.without_url());
    if builder {
        return ErrorClass::Setup
            .error(format!("cannot build the request: {why}"))
            .with_first_step("check the provider's `headers` and the key");
    }
    // Not a network failure: a retry would get the same certificate.
    if why.contains("certificate") {
        return ErrorClass::Setup
            .error(format!("`{host}` is not trusted: {why}"))
            .with_first_step(
                "check the system's certificates; a proxy that replaces them needs its own there",
            );
    }
    if timeout {
        return ErrorClass::Timeout(TimeoutPhase::Connect)
            .error(format!("`{host}` could not be reached in time: {why}"));
    }
    ErrorClass::Network.error(format!("`{host}` cannot be reached: {why}"))
}

/// Renders an error with its chain of causes, which reqwest's own message omits.
fn render_error_chain(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        // Wrapped errors often repeat their cause's message.
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tape_learns_no_host_and_no_key() {
        let at = |url: &str| recorded_path(&Url::parse(url).unwrap());
        assert_eq!(
            at("https://me:pw@h:1/v1/x?alt=sse&key=abc&api-version=3&X-Signature=d"),
            "/v1/x?alt=sse&api-version=3"
        );
        assert_eq!(at("https://h/v1/x?api_key=abc"), "/v1/x");
    }

    #[test]
    fn only_this_machine_is_local() {
        let local = |url: &str| is_local(&Url::parse(url).unwrap());
        assert!(
            local("http://localhost:1/")
                && local("http://127.0.0.2/")
                && local("http://[::1]:8080/")
        );
        assert!(!local("http://10.0.0.1/") && !local("http://localhost.example.com/"));
    }
}
