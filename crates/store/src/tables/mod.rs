//! The state as tables: what SQLite and PostgreSQL have in common, which is nearly everything.
//!
//! An engine brings a connection that can run statements ([`sql::Sql`]) and decides what makes a change durable
//! ([`write::Keeper`]).

pub(crate) mod access;
pub(crate) mod rows;
pub(crate) mod sql;
pub(crate) mod sums;
mod texts;
pub(crate) mod touched;
pub(crate) mod verify;
pub(crate) mod view;
pub(crate) mod write;

/// The tables that the operations make.
pub(crate) const MADE_FROM_OPERATIONS: [&str; 11] = [
    "standing",
    "node",
    "cause",
    "text",
    "version",
    "operation",
    "touched",
    "touched_many",
    "backup",
    "record",
    "searched",
];
