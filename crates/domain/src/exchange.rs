//! What a server and a working copy elsewhere say to one another: the history as lines, and where it stands.
//!
//! Operations travel as lines of a journal, chained by hashes; here is what stands around them. A line's own form is the
//! store's (`Snapshot::lines`, `Transaction::record_line`).

use serde::{Deserialize, Serialize};

use crate::access::Scope;
use crate::ids::{Digest32, OperationId, Principal, StoreId};
use crate::time::Timestamp;

/// The most bytes of operations that are sent at once, either way.
pub const MOST_SENT: usize = 16 * 1024 * 1024;

/// After so many bytes of lines an answer ends; who wants more asks again.
pub const PAGE: usize = 1024 * 1024;

/// How far a clock may be off before an operation it dated is refused.
pub const MOST_MILLIS_OFF: i64 = 5 * 60 * 1_000;

/// The first line of an answer: whose history it is, how far it goes, and whom the server takes the caller for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Greeting {
    pub store: StoreId,
    pub head: OperationId,
    pub head_hash: Digest32,
    /// The time by which claims go.
    pub now: Timestamp,
    pub principal: Principal,
    pub scope: Scope,
    /// Notes that are about the project, not about one working copy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<SharedNote>,
}

/// A note that every working copy should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedNote {
    pub key: String,
    pub body: String,
    pub at: Timestamp,
}

/// The first line of what is sent: which operation the lines come after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sending {
    pub after: OperationId,
    pub hash: Digest32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<SharedNote>,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Receipt {
    /// Every operation is kept: now, or since it was sent before.
    Kept { head: OperationId },
    /// Somebody else was faster; nothing was kept.
    Overtaken { head: OperationId },
    /// The operation they come after is another one here: the two histories went different ways.
    Diverged { after: OperationId },
}

/// A line, as far as a server looks at it before it is recorded.
#[derive(Clone, Debug, Deserialize)]
pub struct LineHead<O> {
    pub op: O,
    pub hash: Digest32,
}
