//! Tests of the hosts' words: every recorded payload, every answer, and what no host would send.

#![allow(
    clippy::unwrap_used,
    clippy::string_slice,
    clippy::disallowed_methods,
    reason = "a failing test may panic"
)]

mod answers;
mod calls;
mod noise;
mod payloads;
mod prompts;
mod recorded;
