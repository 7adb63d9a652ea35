//! Relational schema of the state, shared by SQLite and PostgreSQL: queries, writes, checksums.
//!
//! An engine provides a connection that runs statements ([`sql::Sql`]) and decides what makes a
//! transaction durable ([`write::Keeper`]). Nearly everything else is the same for both.

pub(crate) mod access;
pub(crate) mod checksums;
pub(crate) mod rows;
pub(crate) mod sql;
mod texts;
pub(crate) mod touched_index;
pub(crate) mod verify;
pub(crate) mod view;
pub(crate) mod write;

/// Tables derived from the operations; a rebuild empties and refills them. Notes, stamps, tokens
/// and the audit log are not among them.
pub(crate) const DERIVED_TABLES: [&str; 11] = [
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
