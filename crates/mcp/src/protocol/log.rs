//! What the server says beside its answers, at the level the client asked for.
//!
//! The protocol has given up logging for its newest era, where a request must ask for it; older clients set a level once.
#![expect(
    deprecated,
    reason = "older clients know no other way to hear what goes on"
)]

use std::sync::atomic::{AtomicU8, Ordering};

use rmcp::model::{
    LoggingLevel as Level, LoggingMessageNotification, LoggingMessageNotificationParam,
    ServerNotification,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::{Value, json};

/// The level one connection asked for.
#[derive(Debug)]
pub(super) struct Threshold(AtomicU8);

impl Default for Threshold {
    fn default() -> Self {
        Self(AtomicU8::new(rank(WARNING)))
    }
}

pub(super) const DEBUG: Level = Level::Debug;
pub(super) const NOTICE: Level = Level::Notice;
pub(super) const WARNING: Level = Level::Warning;

fn rank(level: Level) -> u8 {
    match level {
        Level::Debug => 0,
        Level::Info => 1,
        Level::Notice => 2,
        Level::Warning => 3,
        Level::Error => 4,
        Level::Critical => 5,
        Level::Alert => 6,
        Level::Emergency => 7,
    }
}

impl Threshold {
    /// Keeps the level the client asks for.
    pub(super) fn set(&self, level: Level) {
        self.0.store(rank(level), Ordering::Relaxed);
    }

    /// Says something about a request, if its client wants to hear it.
    pub(super) fn say(
        &self,
        ctx: &RequestContext<RoleServer>,
        level: Level,
        data: impl FnOnce() -> Value,
    ) {
        let wanted = match ctx.protocol_version() {
            Some(version) if !version.has_initialize() => ctx.meta.log_level().map(rank),
            _ => Some(self.0.load(Ordering::Relaxed)),
        };
        if wanted.is_some_and(|wanted| rank(level) >= wanted) {
            send(ctx.peer.clone(), level, data());
        }
    }
}

fn send(peer: Peer<RoleServer>, level: Level, data: Value) {
    let params = LoggingMessageNotificationParam::new(level, data).with_logger("throughline");
    let notification =
        ServerNotification::LoggingMessageNotification(LoggingMessageNotification::new(params));
    // Nobody waits for it: a client that does not read must not hold up its own answer.
    tokio::spawn(async move { peer.send_notification(notification).await });
}

/// Returns what a call is told with.
pub(super) fn about_call(tool: &str, what: &str, took: std::time::Duration) -> Value {
    json!({ "tool": tool, "outcome": what, "microseconds": u64::try_from(took.as_micros()).unwrap_or(u64::MAX) })
}
