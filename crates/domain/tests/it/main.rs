//! Tests of the rules.

mod consistency;
mod laws;
mod names;
mod needs;
mod status;
mod texts;
