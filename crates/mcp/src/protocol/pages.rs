//! Pages for people, served beside `/mcp`: the same guard, with a cookie in place of the token.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION, ORIGIN, SET_COOKIE};
use axum::http::{HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::Response;
use serde_json::json;

use super::guard::{Guard, TurnedAway};
use super::http::{Limits, answer, turned_away};

/// Pages for people.
#[derive(Clone)]
pub struct Pages {
    pub router: Router,
    /// Ends their streams when the server is told to stop: they would go on for ever.
    pub close: Arc<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for Pages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pages").finish_non_exhaustive()
    }
}

/// Lets a request for a page in, takes a token from the address, or says why not.
pub(super) async fn admit(State(rules): State<Arc<(Guard, Limits)>>, request: Request, next: Next) -> Response {
    let (guard, limits) = &*rules;
    if let Err(reason) = guard.check_place(request.uri(), request.headers()) {
        return turned_away(reason);
    }
    if request.method() == Method::GET
        && let Some(token) = token_in(request.uri())
    {
        return if guard.is_token(token) { welcome(guard, request.uri()) } else { unknown() };
    }
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    let by_token = guard.cookie().is_some() && guard.shows_token(request.headers());
    if !by_token && !guard.shows_cookie(request.headers()) {
        return unknown();
    }
    // A browser sends the cookie for any page; only a page of ours can say so in `Origin`, which was checked above.
    if !by_token && changes && !request.headers().contains_key(ORIGIN) {
        return turned_away(TurnedAway::Origin);
    }
    match tokio::time::timeout(limits.answer, next.run(request)).await {
        Ok(response) => response,
        Err(_) => answer(StatusCode::GATEWAY_TIMEOUT, &json!({ "error": "this took too long" })),
    }
}

fn token_in(uri: &Uri) -> Option<&str> {
    uri.query()?.split('&').find_map(|pair| pair.strip_prefix("token="))
}

/// Gives the cookie for the token, and leads to the same page without the token in its address.
fn welcome(guard: &Guard, uri: &Uri) -> Response {
    let kept: Vec<&str> =
        uri.query().unwrap_or_default().split('&').filter(|pair| !pair.starts_with("token=")).collect();
    // A path of two slashes would be another host's address.
    let path = format!("/{}", uri.path().trim_start_matches('/'));
    let place = if kept.is_empty() { path } else { format!("{path}?{}", kept.join("&")) };
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("referrer-policy", HeaderValue::from_static("no-referrer"));
    if let Ok(place) = HeaderValue::from_str(&place) {
        headers.insert(LOCATION, place);
    }
    if let Some((name, value)) = guard.cookie()
        && let Ok(cookie) = HeaderValue::from_str(&format!("{name}={value}; HttpOnly; SameSite=Strict; Path=/"))
    {
        headers.insert(SET_COOKIE, cookie);
    }
    response
}

/// Tells a person what to do: the one page that is shown to everybody.
fn unknown() -> Response {
    let text = "Throughline: this page needs the address that `tl serve` printed, with `?token=` in it.\n";
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}
