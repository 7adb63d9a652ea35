//! Admission of programs: a bearer token is required, cookies do not count.
//!
//! The scope is not checked here. A program reads with `POST` too, so only its handler knows which
//! scope a request needs.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;

use crate::authentication::Shown;
use crate::event_streams;
use crate::metrics::Class;
use crate::middleware::{Front, caller_of, no_entry};

/// Authenticates a request and passes it on with its principal, or rejects it.
pub(crate) async fn admit_program(
    State(front): State<Arc<Front>>,
    mut request: Request,
    next: Next,
) -> Response {
    let caller = caller_of(&request);
    if let Err(reason) = front.guard.check(request.uri(), request.headers()) {
        return front.turn_away(reason, &caller, Class::Mcp);
    }
    let admitted = match front
        .let_in(Shown::token(request.headers()), &caller, Class::Mcp)
        .await
    {
        Ok(admitted) => admitted,
        Err(no) => return no_entry(no),
    };
    let token = admitted.token;
    request.extensions_mut().insert(admitted);
    let limits = &front.limits;
    // Only `POST` carries a message; reading the body of others would delay them for nothing.
    if request.method() == Method::POST {
        request = match limits.read_body(request, limits.body).await {
            Ok(request) => request,
            Err(response) => return response,
        };
    }
    let response = limits.await_response(next.run(request)).await;
    event_streams::watched(&front, token, response)
}
