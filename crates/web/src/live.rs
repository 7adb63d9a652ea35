//! Live updates: operations as resumable server-sent events.
//!
//! One thread polls the number of the last operation while a page is open, and scans the plan files
//! from time to time, so operations of every process are seen. The event id is the operation's
//! number; a browser that reconnects sends the last one it received.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use application::Workspace;
use application::list_changes::{ChangeView, list_changes};
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use domain::ids::OperationId;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;

use crate::Dashboard;
use crate::lookout::{FRESH, Lookout};

/// Polling interval of the last operation's number.
const LOOK: Duration = Duration::from_millis(200);
/// Maximum number of missed operations that are replayed; beyond it the page reloads everything.
const MAX_MISSED_OPERATIONS: usize = 200;

#[derive(Clone, Copy, PartialEq, Eq)]
struct Moment {
    head: u64,
    closed: bool,
}

/// Broadcaster of the last operation's number.
pub(crate) struct Live {
    workspace: Arc<dyn Workspace>,
    lookout: Arc<Lookout>,
    moment: watch::Sender<Moment>,
    watching: AtomicBool,
}

impl Live {
    pub(crate) fn of(workspace: Arc<dyn Workspace>, lookout: Arc<Lookout>) -> Self {
        let moment = Moment {
            // A server has to start although the state is unreadable now. The first poll that
            // succeeds corrects the number; pages reload once then.
            head: workspace.head().unwrap_or_default(),
            closed: false,
        };
        Self {
            workspace,
            lookout,
            moment: watch::Sender::new(moment),
            watching: AtomicBool::new(false),
        }
    }

    pub(crate) fn close(&self) {
        self.moment.send_modify(|moment| moment.closed = true);
    }

    pub(crate) fn listen(self: &Arc<Self>) -> Listening {
        Listening(self.subscribe())
    }

    fn subscribe(self: &Arc<Self>) -> watch::Receiver<Moment> {
        let heard = self.moment.subscribe();
        if !self.watching.swap(true, Ordering::SeqCst) {
            let live = self.clone();
            if std::thread::Builder::new()
                .name("live".to_owned())
                .spawn(move || live.run())
                .is_err()
            {
                // So that the next subscriber tries again; until then pages update when they are
                // reloaded.
                self.watching.store(false, Ordering::SeqCst);
            }
        }
        heard
    }

    fn run(&self) {
        let mut looked_at_files = Instant::now();
        loop {
            // Without an open page nothing is polled: an idle server reads no disk.
            if self.moment.borrow().closed || self.moment.receiver_count() == 0 {
                self.watching.store(false, Ordering::SeqCst);
                // A subscriber may have come after the count and before the store, and seen a
                // running thread; then this thread goes on.
                if self.moment.receiver_count() == 0 || self.watching.swap(true, Ordering::SeqCst) {
                    return;
                }
            }
            // One scan for all open pages, instead of one per page.
            if looked_at_files.elapsed() >= FRESH {
                self.lookout.look();
                looked_at_files = Instant::now();
            }
            if let Ok(head) = self.workspace.head() {
                // Wakes the streams only for another number; five polls a second would wake each of
                // them.
                self.moment
                    .send_if_modified(|moment| std::mem::replace(&mut moment.head, head) != head);
            }
            // Checked again after the scan, which may have taken seconds.
            if self.moment.borrow().closed {
                return;
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// A subscription that waits for the next operation.
pub(crate) struct Listening(watch::Receiver<Moment>);

impl Listening {
    /// Resolves when there is an operation after `known`, or the server closes.
    pub(crate) async fn until_after(mut self, known: u64) {
        // An error means that the sender is gone, which is the end of the server as well.
        let _ = self
            .0
            .wait_for(|moment| moment.closed || moment.head > known)
            .await;
    }
}

#[derive(Deserialize)]
pub(crate) struct Since {
    since: Option<u64>,
}

/// Streams operations as server-sent events.
pub(crate) async fn stream(
    State(dashboard): State<Dashboard>,
    Query(asked): Query<Since>,
    headers: HeaderMap,
) -> impl IntoResponse {
    // The header wins: on a reconnect the browser repeats the URL with its old `since`.
    let known = headers
        .get("last-event-id")
        .and_then(|id| id.to_str().ok()?.parse().ok())
        .or(asked.since);
    // Bounded: a slow browser holds up its own task, and its backlog does not grow in memory.
    let (out, events) = mpsc::channel::<Result<Event, Infallible>>(16);
    let mut moments = dashboard.live.subscribe();
    tokio::spawn(async move {
        // Without a number the stream begins at present; a client that read the state earlier
        // passes `since`.
        let mut last = known.unwrap_or_else(|| moments.borrow().head);
        // The first event carries the id at which the stream begins: a connection that breaks
        // before the first operation is resumed there.
        let begins = Event::default()
            .event("begin")
            .id(last.to_string())
            .data("{}");
        if out.send(Ok(begins)).await.is_err() {
            return;
        }
        loop {
            let now = *moments.borrow_and_update();
            if now.closed {
                return;
            }
            // `!=` instead of `>`: after a restore from a backup the number is smaller.
            if now.head != last {
                let since = OperationId(last);
                // A failed read is retried at the next change; `last` stays, so nothing is skipped.
                if let Ok(changes) = dashboard
                    .ask(move |ctx| list_changes(ctx, since, MAX_MISSED_OPERATIONS))
                    .await
                {
                    last = match &changes {
                        Some(changes) => changes.last().map_or(last, |change| change.operation.0),
                        // Too many were missed: the page reloads and continues from the current
                        // head.
                        None => now.head,
                    };
                    for event in told(changes.as_deref(), last) {
                        if out.send(Ok(event)).await.is_err() {
                            return;
                        }
                    }
                }
            }
            tokio::select! {
                changed = moments.changed() => if changed.is_err() { return },
                // A browser that leaves while nothing happens must not keep its task until the
                // next operation.
                () = out.closed() => return,
            }
        }
    });
    // Comments every 15 s, because proxies close connections that are idle for a minute.
    Sse::new(ReceiverStream::new(events))
        .keep_alive(KeepAlive::new().interval(Duration::from_secs(15)))
}

/// Returns the events of some changes, or the event that tells a page to reload everything.
fn told(changes: Option<&[ChangeView]>, head: u64) -> Vec<Event> {
    let event = |name: &str, id: u64, data: String| {
        Event::default().event(name).id(id.to_string()).data(data)
    };
    match changes {
        Some(changes) => changes
            .iter()
            .map(|change| event("operation", change.operation.0, json!(change).to_string()))
            .collect(),
        None => vec![event("reset", head, "{}".to_owned())],
    }
}
