//! Accept loop with a connection limit, a header timeout and a graceful shutdown.
//!
//! Written on `hyper`, because `axum::serve` has no setting for any of these.

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

/// Header timeout of a connection over the limit, which is answered with 503.
const REJECTED_HEAD_TIMEOUT: Duration = Duration::from_secs(1);
/// Time for requests in flight at shutdown.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// Delay after a failed `accept`, which usually means that file descriptors have run out.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Serves until `stopped`; then cancels `closing`, because event streams never end by themselves.
pub(crate) async fn accept_connections(
    listener: TcpListener,
    app: Router,
    limits: Limits,
    closing: CancellationToken,
    stopped: impl Future<Output = ()>,
) {
    // A semaphore instead of a counter: its permit is released when the connection task ends, also
    // by a panic.
    let room = Arc::new(Semaphore::new(limits.connections));
    let mut open = JoinSet::new();
    let mut stopped = pin!(stopped);
    loop {
        let (stream, from) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(_) => {
                    // A busy loop would take a core while descriptors are exhausted.
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                    continue;
                }
            },
            () = &mut stopped => break,
            // Reaps finished connections; otherwise the set would grow with every one.
            Some(_) = open.join_next() => continue,
        };
        // Without it Nagle's algorithm holds each event of a stream until the client has
        // acknowledged the one before it: 40 ms.
        let _ = stream.set_nodelay(true);
        match room.clone().try_acquire_owned() {
            Ok(place) => {
                let (app, closing) = (app.clone(), closing.clone());
                open.spawn(async move {
                    serve_connection(stream, Peer(from.ip()), app, limits.head, closing).await;
                    drop(place);
                });
            }
            // Not queued: a client that waits for a slot without a response would time out anyway.
            Err(_) => drop(open.spawn(reject_connection(stream, limits.connections))),
        }
    }
    // Closed before the requests in flight have finished: a load balancer sees that at once.
    drop(listener);
    closing.cancel();
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, async {
        while open.join_next().await.is_some() {}
    })
    .await;
}

/// Serves the requests of one connection; on shutdown only the one in flight.
async fn serve_connection(
    stream: TcpStream,
    peer: Peer,
    app: Router,
    head: Duration,
    closing: CancellationToken,
) {
    let app = TowerToHyperService::new(app);
    let answered = service_fn(move |mut request: Request<Incoming>| {
        // The peer address is a property of the connection; handlers see only requests.
        request.extensions_mut().insert(peer);
        app.call(request)
    });
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(head)
            .serve_connection(TokioIo::new(stream), answered)
    );
    // The error of a broken connection is ignored: only its client could be told.
    tokio::select! {
        _ = connection.as_mut() => {}
        () = closing.cancelled() => {
            // Finishes the response in flight, then closes instead of waiting for the next request.
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

/// Answers a connection over the limit with 503. Closing it without a response would look like a
/// crash of the server.
async fn reject_connection(stream: TcpStream, max_connections: usize) {
    let full = service_fn(move |_: Request<Incoming>| {
        let hint =
            format!("{max_connections} clients are connected, which is the limit: try again later");
        ready(Ok::<_, Infallible>(json_response(
            StatusCode::SERVICE_UNAVAILABLE,
            &json!({ "error": hint }),
        )))
    });
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REJECTED_HEAD_TIMEOUT)
        // One response, then the connection closes and frees its file descriptor.
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), full)
        .await;
}
