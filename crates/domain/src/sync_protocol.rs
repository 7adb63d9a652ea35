//! Sync protocol between a team server and its replicas: headers, outcomes and limits.
//!
//! Operations are sent as journal lines, chained by hashes. The format of a line is the store's
//! (`Snapshot::journal_lines`, `Transaction::record_journal_line`).

use serde::{Deserialize, Serialize};

use crate::authorization::Scope;
use crate::ids::{Digest32, OperationId, Principal, StoreId};
use crate::time::Timestamp;

/// Maximum size of the operations in one request, in bytes.
pub const MAX_PUSH_BYTES: usize = 16 * 1024 * 1024;

/// Page size of a pull, in bytes of journal lines; a client that is behind pulls again.
pub const PULL_PAGE_BYTES: usize = 1024 * 1024;

/// Maximum clock skew: operations dated further off the server's time are refused.
// The journal keeps the client's time, and history is read by time: five minutes tolerate a laptop
// whose clock drifts, not one that is set wrong.
pub const MAX_CLOCK_SKEW_MS: i64 = 5 * 60 * 1_000;

/// First line of a pull response: the store, its last operation, and the client's principal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PullHeader {
    pub store: StoreId,
    pub head: OperationId,
    pub head_hash: Digest32,
    /// The server's time, by which claims expire.
    pub now: Timestamp,
    pub principal: Principal,
    pub scope: Scope,
    /// Notes shared by every working copy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<SharedNote>,
}

/// A note shared by every working copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedNote {
    pub key: String,
    pub body: String,
    pub at: Timestamp,
}

/// First line of a push: the operation the lines follow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushHeader {
    pub after: OperationId,
    pub hash: Digest32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<SharedNote>,
}

/// Result of a push (compare-and-swap on the last operation).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum PushOutcome {
    /// Every operation is recorded, now or by an earlier attempt (pushes are idempotent).
    Kept { head: OperationId },
    /// Write conflict: the server has newer operations; nothing was recorded.
    Conflict { head: OperationId },
    /// The server has a different operation `after`: the histories have diverged.
    Diverged { after: OperationId },
}

/// The part of a journal line a server checks before recording it.
#[derive(Clone, Debug, Deserialize)]
pub struct JournalLineHead<O> {
    pub op: O,
    pub hash: Digest32,
}
