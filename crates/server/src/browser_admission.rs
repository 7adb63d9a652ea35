//! Admission of browsers: a token in the URL is exchanged for a session cookie.
//!
//! Also used by programs that call the API with a bearer token. A browser sends the cookie with the
//! forms of any site, so writes with a cookie need an `Origin` of this server (CSRF).

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, ORIGIN, SET_COOKIE,
};
use axum::http::{HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::Response;
use domain::authorization::{CredentialKind, Scope};
use serde_json::json;

use crate::authentication::{AuthenticationError, Credential};
use crate::event_streams;
use crate::metrics::RouteClass;
use crate::middleware::{
    RequestSummary, ServerState, authentication_error_response, request_source,
};
use crate::origin_check::{CookieAttributes, OriginRejection};
use crate::routing::json_response;

/// The router for browsers: the dashboard and the API.
#[derive(Clone)]
pub struct BrowserRoutes {
    pub router: Router,
    /// Ends the router's event streams; called on shutdown.
    pub close: Arc<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for BrowserRoutes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BrowserRoutes").finish_non_exhaustive()
    }
}

/// Authenticates a request and passes it on with its principal, exchanges a token in its URL for a
/// cookie, or rejects it.
pub(crate) async fn admit_browser(
    State(state): State<Arc<ServerState>>,
    mut request: Request,
    next: Next,
) -> Response {
    let (source, summary) = (
        request_source(&request),
        RequestSummary::from_request(&request),
    );
    if let Err(reason) = state
        .origin_check
        .check_request(request.uri(), request.headers())
    {
        return state.reject_origin(reason, &source, summary.class);
    }
    let cookie = state
        .origin_check
        .cookie_attributes(request.uri(), request.headers());
    // Only on `GET`: a form that is redirected would lose its fields.
    if request.method() == Method::GET
        && let Some(token) = token_in_query(request.uri())
    {
        return match state
            .authenticate(Credential::Secret(token), &source, summary.class)
            .await
        {
            // A cookie would outlive it, and its signature says nothing about a browser.
            Ok(admitted) if matches!(admitted.credential, CredentialKind::AccessToken { .. }) => {
                login_hint_response(AuthenticationError::InvalidCredential)
            }
            Ok(_) => redirect_with_cookie(
                &cookie,
                &state.authenticator.cookie_for_secret(token),
                request.uri(),
            ),
            Err(no) => login_hint_response(no),
        };
    }
    let token = Credential::from_bearer_header(request.headers());
    // A bearer token takes precedence: it was sent on purpose, a cookie by the browser.
    let by_token = token != Credential::Missing;
    let credential = if by_token {
        token
    } else {
        Credential::from_cookie(request.headers(), &cookie.name)
    };
    let admitted = match state.authenticate(credential, &source, summary.class).await {
        Ok(admitted) => admitted,
        Err(no) => return login_hint_response(no),
    };
    // The origin check above accepts a missing `Origin`, for programs. With a cookie it is
    // required: only it proves that the form was on a page of this server.
    if !by_token && summary.changes && !request.headers().contains_key(ORIGIN) {
        return state.reject_origin(OriginRejection::Origin, &source, summary.class);
    }
    request.extensions_mut().insert(admitted.clone());
    let response = match summary.changes {
        // The scope of each action is checked where it runs; a read-only token does not get there.
        // Checked before the body is read: a read-only token cannot make the server buffer 32 MB.
        // A form is answered by the dashboard, which refuses it with a page before it reads a body.
        true if !admitted.scope.is_sufficient_for(Scope::Agent)
            && summary.class == RouteClass::Action =>
        {
            let without_body = request.map(|_| Body::empty());
            state.limits.await_response(next.run(without_body)).await
        }
        true if !admitted.scope.is_sufficient_for(Scope::Agent) => {
            let hint = "this token is read-only: ask for one with a wider scope";
            json_response(StatusCode::FORBIDDEN, &json!({ "error": hint }))
        }
        true => {
            let max_bytes = match summary.class {
                RouteClass::Api => state.limits.api_body,
                _ => state.limits.body,
            };
            match state.limits.read_body(request, max_bytes).await {
                Ok(request) => state.limits.await_response(next.run(request)).await,
                Err(response) => response,
            }
        }
        false => state.limits.await_response(next.run(request)).await,
    };
    // After the response, because its status is part of the entry.
    state.audit_response(&admitted, &source, &summary, &response);
    event_streams::watch_stream(&state, admitted.credential, response)
}

fn token_in_query(uri: &Uri) -> Option<&str> {
    uri.query()?
        .split('&')
        .find_map(|pair| pair.strip_prefix("token="))
}

/// Sets the cookie and redirects to the same page without the token, which would otherwise stay in
/// the browser's history and leak in `Referer` headers.
fn redirect_with_cookie(cookie: &CookieAttributes, value: &str, uri: &Uri) -> Response {
    let kept: Vec<&str> = uri
        .query()
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.starts_with("token="))
        .collect();
    // `//host/path` in `Location` is another host: an open redirect.
    let path = format!("/{}", uri.path().trim_start_matches('/'));
    let place = if kept.is_empty() {
        path
    } else {
        format!("{path}?{}", kept.join("&"))
    };
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // The page before the redirect had the token in its address.
    headers.insert("referrer-policy", HeaderValue::from_static("no-referrer"));
    if let Ok(place) = HeaderValue::from_str(&place) {
        headers.insert(LOCATION, place);
    }
    let CookieAttributes { name, secure } = cookie;
    // `Secure` only behind HTTPS: on plain loopback a browser would not send the cookie back.
    let secure = if *secure { "; Secure" } else { "" };
    if let Ok(cookie) = HeaderValue::from_str(&format!(
        "{name}={value}; HttpOnly; SameSite=Strict; Path=/{secure}"
    )) {
        headers.insert(SET_COOKIE, cookie);
    }
    response
}

/// The page of a browser that is not authenticated. It loads nothing: assets need a token, too.
const LOGIN_HINT: &str = "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
    <meta name=\"color-scheme\" content=\"light dark\"><title>Sign in · Throughline</title></head><body><main>\
    <h1>This browser is not signed in</h1>\
    <p>This page needs the address that <code>tl serve</code> printed, or a token you were given, \
    with <code>?token=</code> in it.</p>\
    <ul><li>On this machine: run <code>tl serve --open</code>.</li>\
    <li>On a server of your team: ask for <code>tl team token create NAME --as human:YOU --scope approve</code>.</li></ul>\
    </main></body></html>\n";

/// Returns the response for a browser that is not authenticated: how to get in.
fn login_hint_response(no: AuthenticationError) -> Response {
    // Rate limits and an unavailable database are for programs and people alike; only a missing
    // token needs the hint.
    if no != AuthenticationError::InvalidCredential {
        return authentication_error_response(no);
    }
    let mut response = Response::new(Body::from(LOGIN_HINT));
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/html; charset=utf-8"),
    );
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"),
    );
    headers.insert(
        "x-content-type-options",
        HeaderValue::from_static("nosniff"),
    );
    response
}
