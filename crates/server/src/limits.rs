//! Resource limits per client: connections, time, bytes, requests.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use crate::rate_limit::RateLimit;
use crate::routing::json_response;

/// Resource limits per client.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of open connections. Each takes a few file descriptors at most; the limit of
    /// a process is often 1,024.
    pub connections: usize,
    /// Time within which the head of a request has to arrive. An idle connection is closed after
    /// it.
    pub head: Duration,
    /// Time within which the body has to arrive after its head.
    pub arrival: Duration,
    /// Maximum size of an MCP message or a form, in bytes.
    pub body: usize,
    /// Maximum size of an API request's body, in bytes: replicas send whole operations with the
    /// texts in them.
    pub api_body: usize,
    /// Rate limit per token.
    pub rate: RateLimit,
    /// Time within which a response has to begin.
    pub answer: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 256,
            head: Duration::from_secs(30),
            arrival: Duration::from_secs(30),
            body: 4 * 1024 * 1024,
            api_body: 32 * 1024 * 1024,
            rate: RateLimit::default(),
            // Above the 600 s that the MCP tool `wait` may block for.
            answer: Duration::from_secs(660),
        }
    }
}

impl Limits {
    /// Reads the whole body, of at most `max_bytes`, so that a slow or endless upload occupies no
    /// handler.
    pub(crate) async fn read_body(
        &self,
        request: Request,
        max_bytes: usize,
    ) -> Result<Request, Response> {
        let (parts, body) = request.into_parts();
        match tokio::time::timeout(self.arrival, to_bytes(body, max_bytes)).await {
            Ok(Ok(bytes)) => Ok(Request::from_parts(parts, Body::from(bytes))),
            // A read error and an overlong body look the same here; the size is by far the more
            // likely.
            Ok(Err(_)) => {
                let hint = format!("the request body is larger than {max_bytes} bytes");
                Err(json_response(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    &json!({ "error": hint }),
                ))
            }
            Err(_) => Err(json_response(
                StatusCode::REQUEST_TIMEOUT,
                &json!({ "error": "the request body did not arrive in time" }),
            )),
        }
    }

    /// Waits for a response to begin. The body is not awaited: an event stream stays open as long
    /// as its client.
    pub(crate) async fn await_response(
        &self,
        response: impl Future<Output = Response>,
    ) -> Response {
        match tokio::time::timeout(self.answer, response).await {
            Ok(response) => response,
            Err(_) => json_response(
                StatusCode::GATEWAY_TIMEOUT,
                &json!({ "error": "the request timed out" }),
            ),
        }
    }
}
