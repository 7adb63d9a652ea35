//! The tool `plan_wait`: polls its use case until it is done, the timeout, or cancellation.
//!
//! The loop is here and not in the tool, because a tool has no access to progress notifications and
//! cancellation.

use std::time::Duration;

use domain::ids::Principal;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use super::server::Server;
use crate::surface::Called;

/// The name of the tool.
pub(super) const WAIT: &str = "plan_wait";

/// Polling interval of the last operation's number.
const LOOK: Duration = Duration::from_millis(200);
/// Interval at which the tool is called in any case: an edited file becomes an operation only when
/// something scans it.
const ASK: Duration = Duration::from_secs(2);
/// Interval of progress notifications, on which clients restart their request timeout.
const PROGRESS: Duration = Duration::from_secs(2);

const DEFAULT_SECONDS: u64 = 60;
const MAX_WAIT_SECONDS: u64 = 600;

fn timeout(arguments: &Value) -> Duration {
    let seconds = arguments
        .get("timeout_seconds")
        .and_then(Value::as_u64)
        .unwrap_or(DEFAULT_SECONDS);
    Duration::from_secs(seconds.min(MAX_WAIT_SECONDS))
}

/// Returns the arguments with the operation at which waiting began, unless the client gave one.
fn since(arguments: &Value, head: Option<u64>) -> Value {
    let mut arguments = arguments.clone();
    if let (Some(given), Some(head)) = (arguments.as_object_mut(), head) {
        // Without it a comment made while the first poll ran would not count as new.
        given.entry("since").or_insert_with(|| head.into());
    }
    arguments
}

/// Whether any change ends the wait and the client leaves it to the server what it is compared with.
fn compares_with_first_look(arguments: &Value) -> bool {
    let given = |key: &str| arguments.get(key).filter(|value| !value.is_null());
    given("until").and_then(Value::as_str) == Some("changed")
        && given("since").is_none()
        && given("status").is_none()
}

/// Returns the last operation that a look saw.
fn seen_operation(called: &Called) -> Option<u64> {
    match called {
        Called::Done(value) => value.get("operation")?.as_u64(),
        _ => None,
    }
}

fn goes_on(called: &Called) -> bool {
    matches!(called, Called::Done(value) if value.get("done").and_then(Value::as_bool) == Some(false))
}

/// Polls until the condition of `plan_wait` holds, and reports a wait that ends without a decision.
pub(super) async fn wait(
    server: &Server,
    actor: &Principal,
    arguments: &Value,
    ctx: &RequestContext<RoleServer>,
) -> Called {
    let called = poll_until_done(server, actor, arguments, ctx).await;
    if goes_on(&called) {
        server.end_wait(actor, arguments);
    }
    called
}

async fn poll_until_done(
    server: &Server,
    actor: &Principal,
    arguments: &Value,
    ctx: &RequestContext<RoleServer>,
) -> Called {
    // Read before the first call: an operation between the two makes the numbers differ.
    let mut head = server.head();
    let mut called = None;
    if compares_with_first_look(arguments) {
        // An edit that nobody had looked at yet is recorded by the first look. It was made before the
        // wait began, so it does not end it.
        let first = server.called_here(actor, WAIT, arguments);
        head = seen_operation(&first).or(head);
        called = Some(first);
    }
    let arguments = &since(arguments, head);
    let mut called = called.unwrap_or_else(|| server.called_here(actor, WAIT, arguments));
    let begun = Instant::now();
    let limit = timeout(arguments);
    let mut asked = begun;
    let mut told = begun;
    while goes_on(&called) && begun.elapsed() < limit {
        // Never past the deadline, so that a wait of one second takes one second.
        let next = (Instant::now() + LOOK).min(begun + limit);
        tokio::select! {
            () = sleep_until(next) => {}
            // The client has given up; the last result is returned, because the SDK needs one.
            () = ctx.ct.cancelled() => return called,
            () = server.closing_token().cancelled() => return called,
        }
        let now = server.head();
        // The tool runs only when something was recorded, or every two seconds for edited files.
        if now != head || asked.elapsed() >= ASK || begun.elapsed() >= limit {
            head = now;
            asked = Instant::now();
            called = server.called_here(actor, WAIT, arguments);
        }
        if told.elapsed() >= PROGRESS {
            told = Instant::now();
            progress(ctx, begun.elapsed(), limit).await;
        }
    }
    called
}

async fn progress(ctx: &RequestContext<RoleServer>, waited: Duration, limit: Duration) {
    let Some(token) = ctx.meta.get_progress_token() else {
        return;
    };
    let params = ProgressNotificationParam::new(token, waited.as_secs_f64().floor())
        .with_total(limit.as_secs_f64())
        .with_message("waiting for a decision");
    // With a timeout: a client that does not read must not stop the polling.
    let _ = tokio::time::timeout(LOOK, ctx.peer.notify_progress(params)).await;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_time_is_bounded() {
        assert_eq!(timeout(&json!({})).as_secs(), 60);
        assert_eq!(timeout(&json!({ "timeout_seconds": 5 })).as_secs(), 5);
        assert_eq!(
            timeout(&json!({ "timeout_seconds": 100_000 })).as_secs(),
            600
        );
        assert_eq!(timeout(&json!({ "timeout_seconds": "x" })).as_secs(), 60);
    }
}
