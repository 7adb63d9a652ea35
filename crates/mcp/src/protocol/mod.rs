//! The MCP protocol over stdio and HTTP: the only module that knows `rmcp`.
//!
//! Both eras of the protocol are served by one process and at one address. Up to 2025-11-25 a
//! client sends `initialize` and there is a session; from 2026-07-28 on every request carries the
//! client's name, capabilities and protocol version.

mod approval;
mod changes;
mod convert;
mod frames;
mod http;
mod identity;
mod log;
mod pages;
mod pipe;
mod read_thread;
mod server;
mod stdio;
mod subscriptions;
mod wait;

pub use self::http::{http_router, http_router_around};
pub use self::server::Server;
pub use self::stdio::{serve_pipe, serve_stdio};

/// Length of a session name: short, because the history shows it; 48 bits are enough to tell the
/// sessions of one project apart.
const SESSION_NAME_DIGITS: usize = 12;

/// Returns a random session name for a connection.
fn connection_name() -> String {
    uuid::Uuid::new_v4()
        .simple()
        .to_string()
        .chars()
        .take(SESSION_NAME_DIGITS)
        .collect()
}
