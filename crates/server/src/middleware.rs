//! HTTP middleware for every route: timing, metrics, authentication, audit log.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::header::{HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use domain::access_token::{AccessTokenProblem, AccessTokenRules};
use domain::authorization::{AuditDetail, AuthenticatedPrincipal};
use serde_json::json;

use crate::audit_log::AuditLog;
use crate::authentication::{AuthenticationError, Authenticator, Credential};
use crate::limits::Limits;
use crate::metrics::{Metrics, RouteClass};
use crate::origin_check::{OriginCheck, OriginRejection, PublicUrl};
use crate::rate_limit::RateLimiter;
use crate::resource_metadata::server_origin;
use crate::routing::json_response;

/// State shared by all requests.
pub(crate) struct ServerState {
    pub(crate) origin_check: OriginCheck,
    pub(crate) authenticator: Authenticator,
    pub(crate) limits: Limits,
    pub(crate) rate_limiter: RateLimiter,
    pub(crate) audit_log: Arc<AuditLog>,
    pub(crate) metrics: Metrics,
    /// Public URL behind a reverse proxy.
    pub(crate) public: Option<PublicUrl>,
    /// Which access tokens are accepted.
    pub(crate) token_rules: Option<AccessTokenRules>,
}

/// Address of the other end of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Source of a request, for the rate limit and the audit log.
#[derive(Clone, Debug)]
pub struct RequestSource {
    pub(crate) address: IpAddr,
    /// For display: the address, with the one a proxy reports. Any client can forge that header, so
    /// it decides nothing.
    pub(crate) from: String,
    /// Trace id of the request's `traceparent` header.
    pub(crate) trace: Option<String>,
}

/// Where the pages of this server are, as the client reaches it; none without a dashboard.
#[derive(Clone, Debug)]
pub struct PagesOrigin(pub String);

/// Notes where the pages of this server are, for the layers below.
pub(crate) async fn note_pages(
    State(state): State<Arc<ServerState>>,
    mut request: Request,
    next: Next,
) -> Response {
    let origin = server_origin(&state, request.headers());
    request.extensions_mut().insert(PagesOrigin(origin));
    next.run(request).await
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

/// Returns the last address in `X-Forwarded-For`, which the nearest proxy added; those before it
/// came with the request.
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

/// Returns the trace id of a W3C `traceparent` header.
fn trace_id(headers: &HeaderMap) -> Option<String> {
    let header = headers.get("traceparent")?.to_str().ok()?;
    let mut parts = header.split('-');
    let (version, id, span) = (parts.next()?, parts.next()?, parts.next()?);
    // Strict, because the id goes into the audit log: only lowercase hexadecimal digits, as the W3C
    // specification demands.
    let digits = |text: &str, length| {
        text.len() == length
            && text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    };
    // Version `ff` and an id of zeros are invalid by the specification.
    let is_one = digits(version, 2) && version != "ff" && digits(id, 32) && digits(span, 16);
    (is_one && id.bytes().any(|byte| byte != b'0')).then(|| id.to_owned())
}

/// Measures a request, and notes its source for the layers below.
pub(crate) async fn measure_request(
    State(state): State<Arc<ServerState>>,
    mut request: Request,
    next: Next,
) -> Response {
    // Outermost layer: rejected requests are measured too.
    let begun = Instant::now();
    let class = RouteClass::from_path(request.uri().path());
    let source = RequestSource::from_request(&request);
    request.extensions_mut().insert(source);
    let response = next.run(request).await;
    // Counted by status, because the limits of tokens and addresses reject in different places.
    if response.status() == StatusCode::TOO_MANY_REQUESTS {
        state.metrics.limited.fetch_add(1, Relaxed);
    }
    state
        .metrics
        .record_response(class, response.status().as_u16(), begun.elapsed());
    response
}

impl ServerState {
    /// Authenticates a request and applies the rate limit of its token. Rejections are audited.
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
        // The address limit applies to unknown tokens only: an office behind one address shares no
        // budget.
        let entered = self
            .authenticator
            .authenticate(credential, || {
                self.rate_limiter.check_address(source.address)
            })
            .await;
        let admitted = entered.map_err(|no| note(None, no))?;
        if let Some(token) = admitted.token_id() {
            self.audit_log.record_token_use(token);
        }
        self.rate_limiter
            .check_client(&admitted)
            .map_err(|wait| note(Some(&admitted), AuthenticationError::RateLimited(wait)))?;
        Ok(admitted)
    }

    /// Returns the response for a rejected `Host` or `Origin`, and audits it.
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

    /// Audits the response to an authenticated request of a browser or the API. MCP calls are
    /// audited by `mcp`, one by one: one HTTP status says nothing about them.
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
            // The redirect's target names the result, `?done=approved`.
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
        } else if let Some(AuditDetail(decided)) = response.extensions().get() {
            // A decision pushed by a replica: which one matters, so it is an entry of its own.
            self.audit_log.record(
                who,
                source,
                &summary.action_name(),
                status.as_str(),
                decided,
            );
        } else if summary.changes && summary.class != RouteClass::Page {
            // Replicas push all day: one entry per minute with a count.
            self.audit_log.record_aggregated(
                Some(who),
                source,
                &summary.action_name(),
                status.as_str(),
            );
        }
    }
}

/// Route class, method and path of a request.
pub(crate) struct RequestSummary {
    pub(crate) class: RouteClass,
    pub(crate) changes: bool,
    method: Method,
    path: String,
}

impl RequestSummary {
    pub(crate) fn from_request(request: &Request) -> Self {
        // Cut, because it is written to the audit log and may be as long as a request's head.
        let path: String = request.uri().path().chars().take(200).collect();
        let method = request.method().clone();
        // Safe methods by RFC 9110; everything else may change something.
        let changes = !matches!(method, Method::GET | Method::HEAD | Method::OPTIONS);
        Self {
            class: RouteClass::from_path(&path),
            changes,
            method,
            path,
        }
    }

    /// Returns the action for the audit log. The path is included only for writes, of which there
    /// are few: paths of pages would make too many distinct entries.
    fn action_name(&self) -> String {
        match self.changes && self.class != RouteClass::Page {
            true => format!("{} {}", self.method, self.path),
            false => format!("{} {}", self.method, self.class.as_str()),
        }
    }
}

/// Returns the source of a request.
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
            Self::AccessToken(AccessTokenProblem::Scope) => StatusCode::FORBIDDEN,
            Self::InvalidCredential | Self::AccessToken(_) => StatusCode::UNAUTHORIZED,
            Self::TokenStoreUnavailable | Self::IssuerUnavailable => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::RateLimited(_) => StatusCode::TOO_MANY_REQUESTS,
        }
    }
}

/// Returns the response for a request that is not authenticated, for programs.
pub(crate) fn authentication_error_response(no: AuthenticationError) -> Response {
    let challenge = || HeaderValue::from_static("Bearer realm=\"throughline\"");
    let (name, value, hint) = match no {
        AuthenticationError::InvalidCredential => (
            WWW_AUTHENTICATE,
            challenge(),
            "send the token `tl serve` printed, or one of `tl team token create`: Authorization: Bearer TOKEN".to_owned(),
        ),
        AuthenticationError::AccessToken(problem) => (
            WWW_AUTHENTICATE,
            challenge(),
            format!("the access token is not accepted: {problem}; sign in again at the issuer"),
        ),
        AuthenticationError::IssuerUnavailable => (
            RETRY_AFTER,
            HeaderValue::from_static("10"),
            "the access token cannot be verified, because the issuer's keys cannot be read: try again later".to_owned(),
        ),
        AuthenticationError::TokenStoreUnavailable => (
            RETRY_AFTER,
            HeaderValue::from_static("2"),
            "the token cannot be verified, because the database does not respond: try again later".to_owned(),
        ),
        AuthenticationError::RateLimited(wait) => {
            // Rounded up: a client that comes back too early is rejected again.
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
            "the `Host` header names another server: use the address `tl serve` printed, or start it with --public-url"
        }
        OriginRejection::Origin => "cross-origin requests are not allowed",
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
