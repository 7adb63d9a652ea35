//! Liveness (`/healthz`), readiness (`/readyz`) and metrics (`/metrics`).
//!
//! The first two need no token, so they reveal nothing but yes or no.

use std::sync::Arc;
use std::time::{Duration, Instant};

use application::Workspace;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use axum::http::request::Parts;
use axum::response::Response;
use axum::routing::get;
use domain::ids::Principal;
use domain::operation::Channel;
use tokio::sync::Mutex;

use crate::authentication::Credential;
use crate::metrics::{ExternalMetrics, RouteClass};
use crate::middleware::{
    RequestSource, ServerState, authentication_error_response, request_source,
};

/// Age up to which a probe of the database is reused: without a token anybody may call `/readyz`,
/// and must not load the database with it.
const PROBE_TTL: Duration = Duration::from_secs(1);
/// Time limit of a probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// The last probe of the database, and whether it succeeded.
#[derive(Default)]
struct ReadinessProbe(Mutex<Option<(Instant, bool)>>);

impl ReadinessProbe {
    async fn is_ready(&self, workspace: &Arc<dyn Workspace>) -> bool {
        // Held during the probe: concurrent calls wait for one probe instead of starting theirs.
        let mut last = self.0.lock().await;
        if let Some((_, answered)) = last.filter(|(at, _)| at.elapsed() < PROBE_TTL) {
            return answered;
        }
        let workspace = workspace.clone();
        let asked = tokio::task::spawn_blocking(move || {
            let head = &mut |ctx: &application::Context<'_>| {
                Ok(ctx.store.begin_read()?.last_operation_id()?)
            };
            workspace.run_use_case(Channel::System, &Principal::System, head)
        });
        // The blocking task cannot be cancelled; after the timeout its result is ignored.
        let answered = matches!(
            tokio::time::timeout(PROBE_TIMEOUT, asked).await,
            Ok(Ok(Ok(_)))
        );
        *last = Some((Instant::now(), answered));
        answered
    }
}

fn text_response(status: StatusCode, text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8"),
    );
    // A cached probe would hide an outage from a load balancer.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Returns the routes for monitoring.
pub(crate) fn health_router(state: Arc<ServerState>, workspace: Arc<dyn Workspace>) -> Router {
    let probe = Arc::new(ReadinessProbe::default());
    let asked = workspace.clone();
    let ready = move || async move {
        match probe.is_ready(&asked).await {
            true => text_response(StatusCode::OK, "ready\n"),
            false => text_response(StatusCode::SERVICE_UNAVAILABLE, "not ready\n"),
        }
    };
    let metrics = move |request: Request| async move {
        let source = request_source(&request);
        serve_metrics(&state, workspace, source, request.into_parts().0).await
    };
    Router::new()
        .route(
            "/healthz",
            get(async || text_response(StatusCode::OK, "alive\n")),
        )
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
}

async fn serve_metrics(
    state: &ServerState,
    workspace: Arc<dyn Workspace>,
    source: RequestSource,
    request: Parts,
) -> Response {
    if let Err(reason) = state
        .origin_check
        .check_request(&request.uri, &request.headers)
    {
        return state.reject_origin(reason, &source, RouteClass::Health);
    }
    // No scope check: metrics need `read`, which every token has.
    if let Err(no) = state
        .authenticate(
            Credential::from_bearer_header(&request.headers),
            &source,
            RouteClass::Health,
        )
        .await
    {
        return authentication_error_response(no);
    }
    // Read before the head, which waits for a store connection itself.
    let store_waits = workspace.store_wait_stats();
    let head = tokio::task::spawn_blocking(move || workspace.head()).await;
    let external = ExternalMetrics {
        head: head.ok().and_then(Result::ok),
        store_waits,
        audit_lost: state.audit_log.lost_entries(),
    };
    text_response(StatusCode::OK, state.metrics.render_prometheus(&external))
}
