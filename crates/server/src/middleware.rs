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
use domain::authorization::AuthenticatedPrincipal;
use serde_json::json;

use crate::audit_log::AuditLog;
use crate::authentication::{AuthenticationError, Authenticator, Credential};
use crate::limits::Limits;
use crate::metrics::{Metrics, RouteClass};
use crate::origin_check::{OriginCheck, OriginRejection};
use crate::rate_limit::RateLimiter;
use crate::routing::json_response;

/// What all requests share.
pub(crate) struct ServerState {
    pub(crate) origin_check: OriginCheck,
    pub(crate) authenticator: Authenticator,
    pub(crate) limits: Limits,
    pub(crate) rate_limiter: RateLimiter,
    pub(crate) audit_log: Arc<AuditLog>,
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
    fn from_request(request: &Request) -> Self {
        let peer = request.extensions().get::<Peer>();
        let address = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0);
        let from = match forwarded_address(request.headers()) {
            Some(said) => format!("{said} via {address}"),
            None => address.to_string(),
        };
        Self {
            address,
            from,
            trace: trace_id(request.headers()),
        }
    }
}

/// Returns the address that the nearest proxy says it got a request from.
fn forwarded_address(headers: &HeaderMap) -> Option<IpAddr> {
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
fn trace_id(headers: &HeaderMap) -> Option<String> {
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
pub(crate) async fn measure_request(
    State(state): State<Arc<ServerState>>,
    mut request: Request,
    next: Next,
) -> Response {
    let begun = Instant::now();
    let class = RouteClass::from_path(request.uri().path());
    let source = RequestSource::from_request(&request);
    request.extensions_mut().insert(source);
    let response = next.run(request).await;
    if response.status() == StatusCode::TOO_MANY_REQUESTS {
        state.metrics.limited.fetch_add(1, Relaxed);
    }
    state
        .metrics
        .record_response(class, response.status().as_u16(), begun.elapsed());
    response
}

impl ServerState {
    /// Lets somebody in who shows this, unless they come too often; who is not let in is noted.
    pub(crate) async fn authenticate(
        &self,
        credential: Credential<'_>,
        source: &RequestSource,
        class: RouteClass,
    ) -> Result<AuthenticatedPrincipal, AuthenticationError> {
        let note = |who, no: AuthenticationError| {
            self.audit_log.record_aggregated(
                who,
                source,
                class.as_str(),
                no.status_code().as_str(),
            );
            no
        };
        let entered = self
            .authenticator
            .authenticate(credential, || {
                self.rate_limiter.check_address(source.address)
            })
            .await;
        let admitted = entered.map_err(|no| note(None, no))?;
        if let Some(token) = admitted.token {
            self.audit_log.record_token_use(token);
            self.rate_limiter
                .check_token(token)
                .map_err(|wait| note(Some(&admitted), AuthenticationError::RateLimited(wait)))?;
        }
        Ok(admitted)
    }

    /// Says why a request is not for us, and notes it.
    pub(crate) fn reject_origin(
        &self,
        reason: OriginRejection,
        source: &RequestSource,
        class: RouteClass,
    ) -> Response {
        let response = origin_rejection_response(reason);
        self.audit_log
            .record_aggregated(None, source, class.as_str(), response.status().as_str());
        response
    }

    /// Notes how a request of somebody who was let in ended, if it is worth it. What the protocol carries is noted call by
    /// call, where it is known what became of it.
    pub(crate) fn audit_response(
        &self,
        who: &AuthenticatedPrincipal,
        source: &RequestSource,
        summary: &RequestSummary,
        response: &Response,
    ) {
        let status = response.status();
        let refused = matches!(
            status,
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS
        );
        if refused {
            self.audit_log.record_aggregated(
                Some(who),
                source,
                &summary.action_name(),
                status.as_str(),
            );
        } else if summary.changes
            && summary.class == RouteClass::Action
            && !status.is_client_error()
        {
            let led = response
                .headers()
                .get("location")
                .and_then(|place| place.to_str().ok());
            self.audit_log.record(
                who,
                source,
                &summary.action_name(),
                status.as_str(),
                led.unwrap_or_default(),
            );
        } else if summary.changes && summary.class != RouteClass::Page {
            // Machines do this all day.
            self.audit_log.record_aggregated(
                Some(who),
                source,
                &summary.action_name(),
                status.as_str(),
            );
        }
    }
}

/// What a request summary for.
pub(crate) struct RequestSummary {
    pub(crate) class: RouteClass,
    pub(crate) changes: bool,
    method: Method,
    path: String,
}

impl RequestSummary {
    pub(crate) fn from_request(request: &Request) -> Self {
        let path: String = request.uri().path().chars().take(200).collect();
        let method = request.method().clone();
        let changes = !matches!(method, Method::GET | Method::HEAD | Method::OPTIONS);
        Self {
            class: RouteClass::from_path(&path),
            changes,
            method,
            path,
        }
    }

    /// Returns it in one line. Only of what changes something is the path told: there are few of those.
    fn action_name(&self) -> String {
        match self.changes && self.class != RouteClass::Page {
            true => format!("{} {}", self.method, self.path),
            false => format!("{} {}", self.method, self.class.as_str()),
        }
    }
}

/// Returns what was found out about a request on its way in.
pub(crate) fn request_source(request: &Request) -> RequestSource {
    request
        .extensions()
        .get::<RequestSource>()
        .cloned()
        .unwrap_or_else(|| RequestSource::from_request(request))
}

impl AuthenticationError {
    fn status_code(self) -> StatusCode {
        match self {
            Self::InvalidCredential => StatusCode::UNAUTHORIZED,
            Self::TokenStoreUnavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::RateLimited(_) => StatusCode::TOO_MANY_REQUESTS,
        }
    }
}

/// Says to a program why it is not let in.
pub(crate) fn authentication_error_response(no: AuthenticationError) -> Response {
    let (name, value, hint) = match no {
        AuthenticationError::InvalidCredential => (
            WWW_AUTHENTICATE,
            HeaderValue::from_static("Bearer realm=\"throughline\""),
            "send the token `tl serve` printed, or one of `tl token create`: Authorization: Bearer TOKEN".to_owned(),
        ),
        AuthenticationError::TokenStoreUnavailable => (
            RETRY_AFTER,
            HeaderValue::from_static("2"),
            "tokens cannot be checked now, because the database does not answer: try again later".to_owned(),
        ),
        AuthenticationError::RateLimited(wait) => {
            let seconds = wait.as_secs() + 1;
            (RETRY_AFTER, HeaderValue::from(seconds), format!("too many requests: try again in {seconds} s"))
        }
    };
    let mut response = json_response(no.status_code(), &json!({ "error": hint }));
    response.headers_mut().insert(name, value);
    response
}

fn origin_rejection_response(reason: OriginRejection) -> Response {
    let hint = match reason {
        OriginRejection::Host => {
            "this is not the host you summary for: use the address `tl serve` printed, or start it with --public-url"
        }
        OriginRejection::Origin => "pages of other sites may not use this server",
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
        let found = |value: &str| trace_id(&headers("traceparent", value));
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
            forwarded_address(&headers("x-forwarded-for", value)).map(|address| address.to_string())
        };
        assert_eq!(found("192.0.2.1").as_deref(), Some("192.0.2.1"));
        assert_eq!(found("a lie, 192.0.2.1").as_deref(), Some("192.0.2.1"));
        assert_eq!(found("192.0.2.1, <script>"), None);
    }
}
