//! BrowserRoutes for people, served beside `/mcp`: the same front, with a cookie in place of the token.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION, ORIGIN, SET_COOKIE};
use axum::http::{HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::Response;
use domain::access::Scope;
use serde_json::json;

use crate::authentication::{NoEntry, Shown};
use crate::event_streams;
use crate::metrics::Class;
use crate::middleware::{Asked, Front, caller_of, no_entry};
use crate::origin_check::{CookieRules, TurnedAway};
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
    State(front): State<Arc<Front>>,
    mut request: Request,
    next: Next,
) -> Response {
    let (caller, asked) = (caller_of(&request), Asked::of(&request));
    if let Err(reason) = front.guard.check(request.uri(), request.headers()) {
        return front.turn_away(reason, &caller, asked.class);
    }
    let cookie = front.guard.cookie(request.uri(), request.headers());
    if request.method() == Method::GET
        && let Some(token) = token_in(request.uri())
    {
        return match front
            .let_in(Shown::Secret(token), &caller, asked.class)
            .await
        {
            Ok(_) => welcome(&cookie, &front.door.cookie_for(token), request.uri()),
            Err(no) => unknown(no),
        };
    }
    let token = Shown::token(request.headers());
    let by_token = token != Shown::Nothing;
    let shown = if by_token {
        token
    } else {
        Shown::cookie(request.headers(), &cookie.name)
    };
    let admitted = match front.let_in(shown, &caller, asked.class).await {
        Ok(admitted) => admitted,
        Err(no) => return unknown(no),
    };
    // A browser sends the cookie for any page; only a page of ours can say so in `Origin`, which was checked above.
    if !by_token && asked.changes && !request.headers().contains_key(ORIGIN) {
        return front.turn_away(TurnedAway::Origin, &caller, asked.class);
    }
    request.extensions_mut().insert(admitted.clone());
    let response = match asked.changes {
        // What exactly it takes is said where it is done; who may only look never gets there.
        true if !admitted.scope.covers(Scope::Agent) => {
            let hint = "this token may only look: ask for one with a wider scope";
            json_response(StatusCode::FORBIDDEN, &json!({ "error": hint }))
        }
        true => {
            let max_bytes = match asked.class {
                Class::Api => front.limits.api_body,
                _ => front.limits.body,
            };
            match front.limits.read_body(request, max_bytes).await {
                Ok(request) => front.limits.await_response(next.run(request)).await,
                Err(response) => response,
            }
        }
        false => front.limits.await_response(next.run(request)).await,
    };
    front.ended(&admitted, &caller, &asked, &response);
    event_streams::watched(&front, admitted.token, response)
}

fn token_in(uri: &Uri) -> Option<&str> {
    uri.query()?
        .split('&')
        .find_map(|pair| pair.strip_prefix("token="))
}

/// Gives the cookie for the token, and leads to the same page without the token in its address.
fn welcome(cookie: &CookieRules, value: &str, uri: &Uri) -> Response {
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
    let CookieRules { name, secure } = cookie;
    let secure = if *secure { "; Secure" } else { "" };
    if let Ok(cookie) = HeaderValue::from_str(&format!(
        "{name}={value}; HttpOnly; SameSite=Strict; Path=/{secure}"
    )) {
        headers.insert(SET_COOKIE, cookie);
    }
    response
}

/// Tells a person what to do: the one page that is shown to everybody.
fn unknown(no: NoEntry) -> Response {
    if no != NoEntry::Unknown {
        return no_entry(no);
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
