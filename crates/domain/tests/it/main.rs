//! Tests of the rules.

#![allow(
    clippy::unwrap_used,
    clippy::string_slice,
    clippy::disallowed_methods,
    reason = "a failing test may panic"
)]

mod briefings;
mod consistency;
mod detection;
mod duplicate_ids;
mod gates;
mod inflected_names;
mod laws;
mod names;
mod needs;
mod order_of_notice;
mod plan_documents;
mod presence;
mod reviews;
mod session_files;
mod shape;
mod stamps;
mod status;
mod texts;
mod tick;
mod trail;
mod work_laws;
mod workflows;
