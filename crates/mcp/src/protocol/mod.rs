//! How the surface travels: the only place that knows `rmcp`.
//!
//! Both eras of the protocol are served by one process and at one address. Up to 2025-11-25 a client says `initialize`
//! and there is a session; from 2026-07-28 on every request says for itself who asks and in which version.

mod approval;
mod audit;
mod changes;
mod connections;
mod convert;
mod door;
mod frames;
mod front;
mod guard;
mod health;
mod http;
mod log;
mod metrics;
mod pages;
mod pipe;
mod rates;
mod server;
mod stdio;
mod streams;
mod wait;

use domain::ids::Digest32;

pub use self::guard::PublicUrl;
pub use self::http::{Limits, Options, serve_http, serve_http_around};
pub use self::pages::Pages;
pub use self::rates::Rate;
pub use self::server::Server;
pub use self::stdio::{serve_pipe, serve_stdio};

/// Returns 256 bits nobody can guess, as hexadecimal digits.
#[must_use]
pub fn secret() -> String {
    // One such id has 122 random bits; three have more than the digest keeps.
    let ids = [
        uuid::Uuid::new_v4(),
        uuid::Uuid::new_v4(),
        uuid::Uuid::new_v4(),
    ];
    Digest32::of(ids.map(uuid::Uuid::into_bytes).as_flattened()).to_string()
}

/// Returns a name for a connection: short, because it is shown in the history.
fn connection_name() -> String {
    uuid::Uuid::new_v4()
        .simple()
        .to_string()
        .chars()
        .take(12)
        .collect()
}
