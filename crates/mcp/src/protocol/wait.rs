//! The tool `wait`: asked again when something changed, until it is done, the time is over or nobody wants to know.

use std::time::Duration;

use domain::ids::Principal;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use super::server::Server;
use crate::surface::Called;

/// The name of the tool.
pub(super) const WAIT: &str = "wait";

/// How often the number of the last operation is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// How often the tool is asked in any case: an edited file is no operation before someone looks at it.
const ASK: Duration = Duration::from_secs(2);
/// How often a client that wants to know is told that it goes on.
const PROGRESS: Duration = Duration::from_secs(2);

const DEFAULT_SECONDS: u64 = 60;
const MOST_SECONDS: u64 = 600;

fn timeout(arguments: &Value) -> Duration {
    let seconds = arguments
        .get("timeout_seconds")
        .and_then(Value::as_u64)
        .unwrap_or(DEFAULT_SECONDS);
    Duration::from_secs(seconds.min(MOST_SECONDS))
}

/// Returns the arguments with where the waiting began, unless the client said it.
fn since(arguments: &Value, head: Option<u64>) -> Value {
    let mut arguments = arguments.clone();
    if let (Some(given), Some(head)) = (arguments.as_object_mut(), head) {
        given.entry("since").or_insert_with(|| head.into());
    }
    arguments
}

fn goes_on(called: &Called) -> bool {
    matches!(called, Called::Done(value) if value.get("done").and_then(Value::as_bool) == Some(false))
}

/// Waits for what `wait` was asked for.
pub(super) async fn wait(
    server: &Server,
    actor: &Principal,
    arguments: &Value,
    ctx: &RequestContext<RoleServer>,
) -> Called {
    // Before the first look, so that nothing falls between the two.
    let mut head = server.head();
    let arguments = &since(arguments, head);
    let mut called = server.called_here(actor, WAIT, arguments);
    let begun = Instant::now();
    let limit = timeout(arguments);
    let mut asked = begun;
    let mut told = begun;
    while goes_on(&called) && begun.elapsed() < limit {
        let next = (Instant::now() + LOOK).min(begun + limit);
        tokio::select! {
            () = sleep_until(next) => {}
            // Nobody reads the answer, but what is known by now is still the truth.
            () = ctx.ct.cancelled() => return called,
            () = server.closing().cancelled() => return called,
        }
        let now = server.head();
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
    // A client that does not hear it still gets its answer.
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
