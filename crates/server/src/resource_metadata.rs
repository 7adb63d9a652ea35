//! Protected resource metadata (RFC 9728): tells a client that got a `401` what this server accepts.
//!
//! Without authentication, because it is what a client needs before it has a token; it says nothing
//! about the project.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{HOST, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::get;
use domain::access_token::AccessTokenProblem;
use domain::authorization::Scope;
use serde_json::json;

use crate::authentication::AuthenticationError;
use crate::metrics::RouteClass;
use crate::middleware::{ServerState, request_source};
use crate::routing::json_response;

/// Path of the metadata; behind it may be the path of the resource.
pub(crate) const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

/// Returns the routes of the metadata.
pub(crate) fn metadata_router(state: Arc<ServerState>) -> Router {
    Router::new()
        .route(METADATA_PATH, get(describe_resource))
        .route(
            &format!("{METADATA_PATH}/{{*resource}}"),
            get(describe_resource),
        )
        .with_state(state)
}

async fn describe_resource(State(state): State<Arc<ServerState>>, request: Request) -> Response {
    if let Err(reason) = state
        .origin_check
        .check_request(request.uri(), request.headers())
    {
        let source = request_source(&request);
        return state.reject_origin(reason, &source, RouteClass::Mcp);
    }
    let path = request.uri().path().trim_start_matches(METADATA_PATH);
    let path = if path.is_empty() { "/mcp" } else { path };
    let mut body = json!({
        "resource": format!("{}{path}", server_origin(&state, request.headers())),
        "resource_name": "Throughline",
        "bearer_methods_supported": ["header"],
        "scopes_supported": Scope::ALL.map(Scope::as_str),
    });
    if let Some(rules) = &state.token_rules {
        let names = rules.scopes.iter().map(|known| known.name.as_str());
        body["authorization_servers"] = json!([rules.issuer]);
        body["scopes_supported"] = names.collect();
    }
    json_response(StatusCode::OK, &body)
}

/// Adds to the challenge of a rejected request where the metadata is, and what is wrong with its
/// access token (RFC 6750).
pub(crate) fn name_metadata(
    mut response: Response,
    no: AuthenticationError,
    state: &ServerState,
    headers: &HeaderMap,
) -> Response {
    if !response.headers().contains_key(WWW_AUTHENTICATE) {
        return response;
    }
    let mut challenge = "Bearer realm=\"throughline\"".to_owned();
    if let AuthenticationError::AccessToken(problem) = no {
        let error = match problem {
            AccessTokenProblem::Scope => "insufficient_scope",
            _ => "invalid_token",
        };
        // The narrowest scope is enough to connect; a tool that needs more says so.
        let narrowest = state.token_rules.iter().flat_map(|rules| &rules.scopes);
        let scope = narrowest.min_by_key(|known| known.scope);
        challenge.push_str(&format!(
            ", error=\"{error}\", error_description=\"{problem}\""
        ));
        if let Some(scope) = scope {
            challenge.push_str(&format!(", scope=\"{}\"", scope.name));
        }
    }
    // The resource is the endpoint, without the tool sets behind it.
    let url = format!("{}{METADATA_PATH}/mcp", server_origin(state, headers));
    challenge.push_str(&format!(", resource_metadata=\"{url}\""));
    if let Ok(challenge) = challenge.parse() {
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    response
}

/// Returns the origin clients use: the public one, or the `Host` that passed the origin check.
pub(crate) fn server_origin(state: &ServerState, headers: &HeaderMap) -> String {
    if let Some(public) = &state.public {
        return public.origin();
    }
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    // A name and a port, whatever was sent: it ends up inside quotes.
    let is_plain = |host: &&str| {
        host.chars()
            .all(|c| c.is_ascii_alphanumeric() || "-.:[]".contains(c))
    };
    format!("http://{}", host.filter(is_plain).unwrap_or("localhost"))
}
