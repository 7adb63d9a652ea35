//! Open event streams: counted in the metrics, and ended when their token is revoked or expires.
//!
//! Authentication happens once per request, and a stream is one request that stays open for days.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use domain::authorization::CredentialKind;
use hyper::body::{Body as HttpBody, Frame};
use tokio_util::sync::{CancellationToken, DropGuard, WaitForCancellationFutureOwned};

use crate::middleware::ServerState;

/// Time between two checks whether a stream's token is still valid.
const REVOCATION_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Body of an event stream.
struct WatchedStream {
    inner: Body,
    state: Arc<ServerState>,
    ended: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Ends the task that checks the token, when the client disconnects.
    _gone: DropGuard,
}

impl HttpBody for WatchedStream {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        // Checked on every poll; the cancellation wakes a stream that waits for its next event.
        if self.ended.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.inner).poll_frame(context)
    }
}

impl Drop for WatchedStream {
    fn drop(&mut self) {
        self.state.metrics.streams.fetch_sub(1, Relaxed);
    }
}

/// Wraps a response that is an event stream; any other is returned unchanged.
pub(crate) fn watch_stream(
    state: &Arc<ServerState>,
    credential: CredentialKind,
    response: Response,
) -> Response {
    let kind = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or_default();
    // By content type, because both routers produce streams: MCP and live updates.
    if !kind.starts_with("text/event-stream") {
        return response;
    }
    // Counted here and in `drop`, so that a stream counts until its client has gone.
    let (end, gone) = (CancellationToken::new(), CancellationToken::new());
    state.metrics.streams.fetch_add(1, Relaxed);
    // The start-up secret cannot be revoked while the server runs.
    if credential != CredentialKind::StartupSecret {
        tokio::spawn(end_on_revocation(
            state.clone(),
            credential,
            end.clone(),
            gone.clone(),
        ));
    }
    response.map(|inner| {
        Body::new(WatchedStream {
            inner,
            state: state.clone(),
            ended: Box::pin(end.cancelled_owned()),
            _gone: gone.drop_guard(),
        })
    })
}

async fn end_on_revocation(
    state: Arc<ServerState>,
    credential: CredentialKind,
    end: CancellationToken,
    gone: CancellationToken,
) {
    loop {
        // Polling once a second costs a cached lookup; the guide promises two seconds.
        tokio::select! {
            () = tokio::time::sleep(REVOCATION_CHECK_INTERVAL) => {}
            () = gone.cancelled() => return,
        }
        if !state.authenticator.is_still_valid(credential).await {
            return end.cancel();
        }
    }
}
