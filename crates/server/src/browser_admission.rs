//! BrowserRoutes for people, served beside `/mcp`: the same state, with a cookie in place of the token.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION, ORIGIN, SET_COOKIE};
use axum::http::{HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::Response;
use domain::authorization::Scope;
use serde_json::json;

use crate::authentication::{AuthenticationError, Credential};
use crate::event_streams;
use crate::metrics::RouteClass;
use crate::middleware::{
    RequestSummary, ServerState, authentication_error_response, request_source,
};
use crate::origin_check::{CookieAttributes, OriginRejection};
use crate::routing::json_response;

/// BrowserRoutes for people.
#[derive(Clone)]
pub struct BrowserRoutes {
    pub router: Router,
    /// Ends their streams when the server is told to stop: they would go on for ever.
    pub close: Arc<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for BrowserRoutes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BrowserRoutes").finish_non_exhaustive()
    }
}

/// Lets a request for a page in, takes a token from the address, or says why not.
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
    if request.method() == Method::GET
        && let Some(token) = token_in_query(request.uri())
    {
        return match state
            .authenticate(Credential::Secret(token), &source, summary.class)
            .await
        {
            Ok(_) => redirect_with_cookie(
                &cookie,
                &state.authenticator.cookie_for_secret(token),
                request.uri(),
            ),
            Err(no) => login_hint_response(no),
        };
    }
    let token = Credential::from_bearer_header(request.headers());
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
    // A browser sends the cookie for any page; only a page of ours can say so in `Origin`, which was checked above.
    if !by_token && summary.changes && !request.headers().contains_key(ORIGIN) {
        return state.reject_origin(OriginRejection::Origin, &source, summary.class);
    }
    request.extensions_mut().insert(admitted.clone());
    let response = match summary.changes {
        // What exactly it takes is said where it is done; who may only look never gets there.
        true if !admitted.scope.is_sufficient_for(Scope::Agent) => {
            let hint = "this token may only look: ask for one with a wider scope";
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
    state.audit_response(&admitted, &source, &summary, &response);
    event_streams::watch_stream(&state, admitted.token, response)
}

fn token_in_query(uri: &Uri) -> Option<&str> {
    uri.query()?
        .split('&')
        .find_map(|pair| pair.strip_prefix("token="))
}

/// Gives the cookie for the token, and leads to the same page without the token in its address.
fn redirect_with_cookie(cookie: &CookieAttributes, value: &str, uri: &Uri) -> Response {
    let kept: Vec<&str> = uri
        .query()
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.starts_with("token="))
        .collect();
    // A path of two slashes would be another host's address.
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
    headers.insert("referrer-policy", HeaderValue::from_static("no-referrer"));
    if let Ok(place) = HeaderValue::from_str(&place) {
        headers.insert(LOCATION, place);
    }
    let CookieAttributes { name, secure } = cookie;
    let secure = if *secure { "; Secure" } else { "" };
    if let Ok(cookie) = HeaderValue::from_str(&format!(
        "{name}={value}; HttpOnly; SameSite=Strict; Path=/{secure}"
    )) {
        headers.insert(SET_COOKIE, cookie);
    }
    response
}

/// Tells a person what to do: the one page that is credential to everybody.
fn login_hint_response(no: AuthenticationError) -> Response {
    if no != AuthenticationError::InvalidCredential {
        return authentication_error_response(no);
    }
    let text = "Throughline: this page needs the address that `tl serve` printed, or a token you were given, \
                with `?token=` in it.\n";
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        "x-content-type-options",
        HeaderValue::from_static("nosniff"),
    );
    response
}
