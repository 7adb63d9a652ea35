//! What every request passes first, whatever it is about: it is timed, counted, let in, and noted.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::header::{HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use domain::access::Admitted;
use serde_json::json;

use crate::audit_log::AuditLog;
use crate::authentication::{Door, NoEntry, Shown};
use crate::limits::Limits;
use crate::metrics::{Class, Metrics};
use crate::origin_check::{Guard, TurnedAway};
use crate::rate_limit::Rates;
use crate::routing::json_response;

/// What all requests share.
pub(crate) struct Front {
    pub(crate) guard: Guard,
    pub(crate) door: Door,
    pub(crate) limits: Limits,
    pub(crate) rates: Rates,
    pub(crate) audit: Arc<AuditLog>,
    pub(crate) metrics: Metrics,
}

/// The other end of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Where a request comes from, as far as it is known.
#[derive(Clone, Debug)]
pub struct RequestSource {
    pub(crate) address: IpAddr,
    /// The same for people, with what a proxy says; nothing is decided by that.
    pub(crate) from: String,
    /// The trace it belongs to, if it says so.
    pub(crate) trace: Option<String>,
}

impl RequestSource {
    fn of(request: &Request) -> Self {
        let peer = request.extensions().get::<Peer>();
        let address = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0);
        let from = match forwarded(request.headers()) {
            Some(said) => format!("{said} via {address}"),
            None => address.to_string(),
        };
        Self {
            address,
            from,
            trace: trace(request.headers()),
        }
    }
}

/// Returns the address that the nearest proxy says it got a request from.
fn forwarded(headers: &HeaderMap) -> Option<IpAddr> {
    headers
        .get("x-forwarded-for")?
        .to_str()
        .ok()?
        .rsplit(',')
        .next()?
        .trim()
        .parse()
        .ok()
}

/// Returns the id of the trace in a W3C `traceparent`.
fn trace(headers: &HeaderMap) -> Option<String> {
    let header = headers.get("traceparent")?.to_str().ok()?;
    let mut parts = header.split('-');
    let (version, id, span) = (parts.next()?, parts.next()?, parts.next()?);
    let digits = |text: &str, length| {
        text.len() == length
            && text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    };
    let is_one = digits(version, 2) && version != "ff" && digits(id, 32) && digits(span, 16);
    (is_one && id.bytes().any(|byte| byte != b'0')).then(|| id.to_owned())
}

/// Times and counts a request.
pub(crate) async fn receive(
    State(front): State<Arc<Front>>,
    mut request: Request,
    next: Next,
) -> Response {
    let begun = Instant::now();
    let class = Class::of(request.uri().path());
    let caller = RequestSource::of(&request);
    request.extensions_mut().insert(caller);
    let response = next.run(request).await;
    if response.status() == StatusCode::TOO_MANY_REQUESTS {
        front.metrics.limited.fetch_add(1, Relaxed);
    }
    front
        .metrics
        .answered(class, response.status().as_u16(), begun.elapsed());
    response
}

impl Front {
    /// Lets somebody in who shows this, unless they come too often; who is not let in is noted.
    pub(crate) async fn let_in(
        &self,
        shown: Shown<'_>,
        caller: &RequestSource,
        class: Class,
    ) -> Result<Admitted, NoEntry> {
        let note = |who, no: NoEntry| {
            self.audit
                .note_often(who, caller, class.word(), no.status().as_str());
            no
        };
        let entered = self
            .door
            .enter(shown, || self.rates.stranger(caller.address))
            .await;
        let admitted = entered.map_err(|no| note(None, no))?;
        if let Some(token) = admitted.token {
            self.audit.used(token);
            self.rates
                .request(token)
                .map_err(|wait| note(Some(&admitted), NoEntry::TooOften(wait)))?;
        }
        Ok(admitted)
    }

    /// Says why a request is not for us, and notes it.
    pub(crate) fn turn_away(
        &self,
        reason: TurnedAway,
        caller: &RequestSource,
        class: Class,
    ) -> Response {
        let response = not_for_us(reason);
        self.audit
            .note_often(None, caller, class.word(), response.status().as_str());
        response
    }

    /// Notes how a request of somebody who was let in ended, if it is worth it. What the protocol carries is noted call by
    /// call, where it is known what became of it.
    pub(crate) fn ended(
        &self,
        who: &Admitted,
        caller: &RequestSource,
        asked: &Asked,
        response: &Response,
    ) {
        let status = response.status();
        let refused = matches!(
            status,
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS
        );
        if refused {
            self.audit
                .note_often(Some(who), caller, &asked.what(), status.as_str());
        } else if asked.changes && asked.class == Class::Action && !status.is_client_error() {
            let led = response
                .headers()
                .get("location")
                .and_then(|place| place.to_str().ok());
            self.audit.note(
                who,
                caller,
                &asked.what(),
                status.as_str(),
                led.unwrap_or_default(),
            );
        } else if asked.changes && asked.class != Class::Page {
            // Machines do this all day.
            self.audit
                .note_often(Some(who), caller, &asked.what(), status.as_str());
        }
    }
}

/// What a request asked for.
pub(crate) struct Asked {
    pub(crate) class: Class,
    pub(crate) changes: bool,
    method: Method,
    path: String,
}

impl Asked {
    pub(crate) fn of(request: &Request) -> Self {
        let path: String = request.uri().path().chars().take(200).collect();
        let method = request.method().clone();
        let changes = !matches!(method, Method::GET | Method::HEAD | Method::OPTIONS);
        Self {
            class: Class::of(&path),
            changes,
            method,
            path,
        }
    }

    /// Returns it in one line. Only of what changes something is the path told: there are few of those.
    fn what(&self) -> String {
        match self.changes && self.class != Class::Page {
            true => format!("{} {}", self.method, self.path),
            false => format!("{} {}", self.method, self.class.word()),
        }
    }
}

/// Returns what was found out about a request on its way in.
pub(crate) fn caller_of(request: &Request) -> RequestSource {
    request
        .extensions()
        .get::<RequestSource>()
        .cloned()
        .unwrap_or_else(|| RequestSource::of(request))
}

impl NoEntry {
    fn status(self) -> StatusCode {
        match self {
            Self::Unknown => StatusCode::UNAUTHORIZED,
            Self::Unsure => StatusCode::SERVICE_UNAVAILABLE,
            Self::TooOften(_) => StatusCode::TOO_MANY_REQUESTS,
        }
    }
}

/// Says to a program why it is not let in.
pub(crate) fn no_entry(no: NoEntry) -> Response {
    let (name, value, hint) = match no {
        NoEntry::Unknown => (
            WWW_AUTHENTICATE,
            HeaderValue::from_static("Bearer realm=\"throughline\""),
            "send the token `tl serve` printed, or one of `tl token create`: Authorization: Bearer TOKEN".to_owned(),
        ),
        NoEntry::Unsure => (
            RETRY_AFTER,
            HeaderValue::from_static("2"),
            "tokens cannot be checked now, because the database does not answer: try again later".to_owned(),
        ),
        NoEntry::TooOften(wait) => {
            let seconds = wait.as_secs() + 1;
            (RETRY_AFTER, HeaderValue::from(seconds), format!("too many requests: try again in {seconds} s"))
        }
    };
    let mut response = json_response(no.status(), &json!({ "error": hint }));
    response.headers_mut().insert(name, value);
    response
}

fn not_for_us(reason: TurnedAway) -> Response {
    let hint = match reason {
        TurnedAway::Host => {
            "this is not the host you asked for: use the address `tl serve` printed, or start it with --public-url"
        }
        TurnedAway::Origin => "pages of other sites may not use this server",
    };
    json_response(StatusCode::FORBIDDEN, &json!({ "error": hint }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        [(
            axum::http::HeaderName::from_static(name),
            value.parse().expect("a header"),
        )]
        .into_iter()
        .collect()
    }

    #[test]
    fn only_a_trace_is_taken_for_one() {
        let id = "0af7651916cd43dd8448eb211c80319c";
        let found = |value: &str| trace(&headers("traceparent", value));
        assert_eq!(
            found(&format!("00-{id}-b7ad6b7169203331-01")).as_deref(),
            Some(id)
        );
        for wrong in [
            "",
            "00",
            id,
            "00-xyz-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        ] {
            assert_eq!(found(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn of_proxies_only_the_nearest_is_believed() {
        let found = |value: &str| {
            forwarded(&headers("x-forwarded-for", value)).map(|address| address.to_string())
        };
        assert_eq!(found("192.0.2.1").as_deref(), Some("192.0.2.1"));
        assert_eq!(found("a lie, 192.0.2.1").as_deref(), Some("192.0.2.1"));
        assert_eq!(found("192.0.2.1, <script>"), None);
    }
}
