//! The web framework's types that a router for [`serve`](crate::serve()) is made of.
//!
//! `mcp` builds its router from these, so that the framework stays a dependency of `server` and
//! `web` alone.

use serde_json::Value;

pub use axum::Router;
pub use axum::body::{Body, to_bytes};
pub use axum::extract::Request;
pub use axum::http;
pub use axum::middleware::{Next, from_fn};
pub use axum::response::Response;
pub use axum::routing::any;

use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderValue};

/// Returns a response with a JSON body.
#[must_use]
pub fn json_response(status: StatusCode, value: &Value) -> Response {
    let mut response = Response::new(Body::from(value.to_string()));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
