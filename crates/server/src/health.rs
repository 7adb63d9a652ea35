//! For whoever looks after the server: whether it lives, whether it can work, and what it has counted.

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

use crate::authentication::Shown;
use crate::metrics::{Class, Elsewhere};
use crate::middleware::{Front, RequestSource, caller_of, no_entry};

/// How long an answer of the database counts. Everybody may ask, so it is not asked each time.
const COUNTS: Duration = Duration::from_secs(1);
/// How long the database may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// When the database was last asked, and whether it answered.
#[derive(Default)]
struct Answered(Mutex<Option<(Instant, bool)>>);

impl Answered {
    async fn lately(&self, workspace: &Arc<dyn Workspace>) -> bool {
        let mut last = self.0.lock().await;
        if let Some((_, answered)) = last.filter(|(at, _)| at.elapsed() < COUNTS) {
            return answered;
        }
        let workspace = workspace.clone();
        let asked = tokio::task::spawn_blocking(move || {
            let head = &mut |ctx: &application::Context<'_>| Ok(ctx.store.read()?.head()?);
            workspace.ask(Channel::System, &Principal::System, head)
        });
        let answered = matches!(tokio::time::timeout(PATIENCE, asked).await, Ok(Ok(Ok(_))));
        *last = Some((Instant::now(), answered));
        answered
    }
}

fn said(status: StatusCode, text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8"),
    );
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Returns the three addresses. The first two are for everybody, and tell nothing but yes or no.
pub(crate) fn router(front: Arc<Front>, workspace: Arc<dyn Workspace>) -> Router {
    let answered = Arc::new(Answered::default());
    let asked = workspace.clone();
    let ready = move || async move {
        match answered.lately(&asked).await {
            true => said(StatusCode::OK, "ready\n"),
            false => said(StatusCode::SERVICE_UNAVAILABLE, "not ready\n"),
        }
    };
    let counted = move |request: Request| async move {
        let caller = caller_of(&request);
        counted(&front, workspace, caller, request.into_parts().0).await
    };
    Router::new()
        .route("/healthz", get(async || said(StatusCode::OK, "alive\n")))
        .route("/readyz", get(ready))
        .route("/metrics", get(counted))
}

async fn counted(
    front: &Front,
    workspace: Arc<dyn Workspace>,
    caller: RequestSource,
    request: Parts,
) -> Response {
    if let Err(reason) = front.guard.check(&request.uri, &request.headers) {
        return front.turn_away(reason, &caller, Class::Health);
    }
    // Every token has at least the scope this takes.
    if let Err(no) = front
        .let_in(Shown::token(&request.headers), &caller, Class::Health)
        .await
    {
        return no_entry(no);
    }
    let store_waits = workspace.store_waits();
    let head = tokio::task::spawn_blocking(move || workspace.head()).await;
    let elsewhere = Elsewhere {
        head: head.ok().and_then(Result::ok),
        store_waits,
        audit_lost: front.audit.lost(),
    };
    said(StatusCode::OK, front.metrics.text(&elsewhere))
}
