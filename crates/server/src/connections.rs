//! Connections over HTTP: how many at once, and how long one may take to say what it wants.

use std::convert::Infallible;
use std::future::ready;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::limits::Limits;
use crate::middleware::Peer;
use crate::routing::json_response;

/// How long one too many may take to say what it wants before it is told to come back later.
const REJECTED_HEAD_TIMEOUT: Duration = Duration::from_secs(1);
/// How long those who are still being answered have when we are told to stop.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// How long to wait when the machine has no more connections to give.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Serves until `stopped`; then `closing` is told, since streams would go on for ever.
pub(crate) async fn accept_connections(
    listener: TcpListener,
    app: Router,
    limits: Limits,
    closing: CancellationToken,
    stopped: impl Future<Output = ()>,
) {
    let room = Arc::new(Semaphore::new(limits.connections));
    let mut open = JoinSet::new();
    let mut stopped = pin!(stopped);
    loop {
        let (stream, from) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(_) => {
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                    continue;
                }
            },
            () = &mut stopped => break,
            // Those that have ended are forgotten.
            Some(_) = open.join_next() => continue,
        };
        // Without this each event of a stream waits for the one before it to be acknowledged: 40 ms.
        let _ = stream.set_nodelay(true);
        match room.clone().try_acquire_owned() {
            Ok(place) => {
                let (app, closing) = (app.clone(), closing.clone());
                open.spawn(async move {
                    serve_connection(stream, Peer(from.ip()), app, limits.head, closing).await;
                    drop(place);
                });
            }
            Err(_) => drop(open.spawn(reject_connection(stream, limits.connections))),
        }
    }
    drop(listener);
    closing.cancel();
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, async {
        while open.join_next().await.is_some() {}
    })
    .await;
}

/// Answers one connection's requests until it ends, or until the one that is being answered when we close.
async fn serve_connection(
    stream: TcpStream,
    peer: Peer,
    app: Router,
    head: Duration,
    closing: CancellationToken,
) {
    let app = TowerToHyperService::new(app);
    let answered = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        app.call(request)
    });
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(head)
            .serve_connection(TokioIo::new(stream), answered)
    );
    // A connection that breaks is the client's affair.
    tokio::select! {
        _ = connection.as_mut() => {}
        () = closing.cancelled() => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

/// Tells one too many to come back later.
async fn reject_connection(stream: TcpStream, max_connections: usize) {
    let full = service_fn(move |_: Request<Incoming>| {
        let hint = format!(
            "{max_connections} clients are connected, and no more are served at once: try again later"
        );
        ready(Ok::<_, Infallible>(json_response(
            StatusCode::SERVICE_UNAVAILABLE,
            &json!({ "error": hint }),
        )))
    });
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REJECTED_HEAD_TIMEOUT)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), full)
        .await;
}
