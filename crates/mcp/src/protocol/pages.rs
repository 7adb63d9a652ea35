//! Pages for people, served beside `/mcp`: the same front, with a cookie in place of the token.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION, ORIGIN, SET_COOKIE};
use axum::http::{HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::Response;
use domain::access::Scope;
use serde_json::json;

use super::door::{NoEntry, Shown};
use super::front::{Asked, Front, caller_of, no_entry};
use super::guard::{CookieRules, TurnedAway};
use super::http::{Limits, answer};
use super::metrics::Class;
use super::streams;

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
pub(super) async fn admit(
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
            answer(StatusCode::FORBIDDEN, &json!({ "error": hint }))
        }
        true => match arrived(request, asked.class, &front.limits).await {
            Ok(request) => answered(&front.limits, next.run(request)).await,
            Err(response) => response,
        },
        false => answered(&front.limits, next.run(request)).await,
    };
    front.ended(&admitted, &caller, &asked, &response);
    streams::watched(&front, admitted.token, response)
}

/// Waits for an answer to begin.
async fn answered(limits: &Limits, answering: impl Future<Output = Response>) -> Response {
    match tokio::time::timeout(limits.answer, answering).await {
        Ok(response) => response,
        Err(_) => answer(
            StatusCode::GATEWAY_TIMEOUT,
            &json!({ "error": "this took too long" }),
        ),
    }
}

/// Waits for all that is sent.
async fn arrived(request: Request, class: Class, limits: &Limits) -> Result<Request, Response> {
    let (parts, body) = request.into_parts();
    let most = if class == Class::Api {
        limits.api_body
    } else {
        limits.body
    };
    match tokio::time::timeout(limits.arrival, to_bytes(body, most)).await {
        Ok(Ok(bytes)) => Ok(Request::from_parts(parts, Body::from(bytes))),
        Ok(Err(_)) => {
            let hint = format!("at most {most} bytes may be sent");
            Err(answer(
                StatusCode::PAYLOAD_TOO_LARGE,
                &json!({ "error": hint }),
            ))
        }
        Err(_) => Err(answer(
            StatusCode::REQUEST_TIMEOUT,
            &json!({ "error": "the message did not arrive in time" }),
        )),
    }
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
