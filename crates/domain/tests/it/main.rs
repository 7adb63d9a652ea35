//! Tests of the rules.

#![allow(clippy::unwrap_used, clippy::string_slice, clippy::disallowed_methods, reason = "a failing test may panic")]

mod consistency;
mod gates;
mod laws;
mod names;
mod needs;
mod status;
mod texts;
