//! Admission of programs: a bearer token is required, cookies do not count.
//!
//! The scope is not checked here. A program reads with `POST` too, so only its handler knows which
//! scope a request needs.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;

use crate::authentication::Credential;
use crate::event_streams;
use crate::metrics::RouteClass;
use crate::middleware::{ServerState, authentication_error_response, request_source};
use crate::resource_metadata::name_metadata;

/// Authenticates a request and passes it on with its principal, or rejects it.
pub(crate) async fn admit_program(
    State(state): State<Arc<ServerState>>,
    mut request: Request,
    next: Next,
) -> Response {
    let source = request_source(&request);
    if let Err(reason) = state
        .origin_check
        .check_request(request.uri(), request.headers())
    {
        // Before authentication: a page of another site must not learn whether a token is valid.
        return state.reject_origin(reason, &source, RouteClass::Mcp);
    }
    let admitted = match state
        .authenticate(
            Credential::from_bearer_header(request.headers()),
            &source,
            RouteClass::Mcp,
        )
        .await
    {
        Ok(admitted) => admitted,
        Err(no) => {
            let response = authentication_error_response(no);
            return name_metadata(response, no, &state, request.headers());
        }
    };
    let credential = admitted.credential;
    request.extensions_mut().insert(admitted);
    let limits = &state.limits;
    // Only `POST` carries a message; reading the body of others would delay them for nothing.
    if request.method() == Method::POST {
        request = match limits.read_body(request, limits.body).await {
            Ok(request) => request,
            Err(response) => return response,
        };
    }
    let response = limits.await_response(next.run(request)).await;
    event_streams::watch_stream(&state, credential, response)
}
