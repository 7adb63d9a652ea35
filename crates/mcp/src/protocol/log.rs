//! Log messages to the client, at the level it asked for.
//!
//! Older clients set a level once per connection. The newest era has deprecated logging; there a
//! request has to ask for it.
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

/// The log level of one connection.
#[derive(Debug)]
pub(super) struct Threshold(AtomicU8);

impl Default for Threshold {
    fn default() -> Self {
        // Until a client sets a level it hears of failures only, not of every call.
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
    /// Sets the level.
    pub(super) fn set(&self, level: Level) {
        self.0.store(rank(level), Ordering::Relaxed);
    }

    /// Sends a message about a request, if its client's level includes it.
    pub(super) fn say(
        &self,
        ctx: &RequestContext<RoleServer>,
        level: Level,
        data: impl FnOnce() -> Value,
    ) {
        // A modern request without a level wants no messages; an older connection has the default.
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
    // Named, because clients show messages of several servers in one list.
    let params = LoggingMessageNotificationParam::new(level, data).with_logger("throughline");
    let notification =
        ServerNotification::LoggingMessageNotification(LoggingMessageNotification::new(params));
    // In a task of its own: a client that does not read notifications still gets its response.
    tokio::spawn(async move { peer.send_notification(notification).await });
}

/// Returns the data of a log message about a call.
pub(super) fn about_call(tool: &str, what: &str, took: std::time::Duration) -> Value {
    json!({ "tool": tool, "outcome": what, "microseconds": u64::try_from(took.as_micros()).unwrap_or(u64::MAX) })
}
