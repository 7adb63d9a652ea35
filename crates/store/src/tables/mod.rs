//! Relational schema of the state, shared by SQLite and PostgreSQL: queries, writes, checksums.
//!
//! An engine provides a connection that runs statements ([`sql::SqlConnection`]) and decides what
//! makes a transaction durable ([`write::TransactionOwner`]). Nearly everything else is the same for
//! both. Reads are in one file per noun: `nodes`, `versions`, `operations`, `records`.

pub(crate) mod access;
pub(crate) mod checksums;
mod nodes;
pub(crate) mod operations;
pub(crate) mod records;
mod replay;
pub(crate) mod rows;
pub(crate) mod sql;
pub(crate) mod store_row;
mod texts;
pub(crate) mod touched_index;
pub(crate) mod verify;
mod versions;
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
