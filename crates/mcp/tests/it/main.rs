//! The protocol: without a project behind it, and with an agent that works through it alone.

mod agent;
mod http;
mod oauth;
mod pipe;
mod planning;
mod unusable;
mod wire;
#[path = "../surface/world.rs"]
#[allow(
    dead_code,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "shared with the tests of the surface; a failing test may panic"
)]
mod world;
