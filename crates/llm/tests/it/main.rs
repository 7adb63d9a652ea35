//! Tests of the whole crate against a real server that behaves badly, real programs and real files.

#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

mod bad_output;
mod commands;
mod connecting;
mod dialects;
mod faults;
mod ladder;
mod recordings;
mod server;
mod setup;
mod speech;
