//! The reason that was given for a blocked node.

use serde::{Deserialize, Serialize};

use crate::ids::{NodeId, Principal};
use crate::node::{Node, Progress};
use crate::ports::{Snapshot, StoreFault};
use crate::record::{Recorded, read_record};
use crate::time::Timestamp;

/// The reason of a blocked node. A record, keyed by its node; it counts only while the node is blocked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockedReason {
    pub text: String,
    pub by: Principal,
    pub at: Timestamp,
}

impl Recorded for BlockedReason {
    const KIND: &'static str = "blocked-reason";
}

impl BlockedReason {
    /// Returns the key of a node's record.
    #[must_use]
    pub fn key_of(node: NodeId) -> String {
        node.0.to_string()
    }

    /// Loads the reason of a node that is blocked.
    ///
    /// # Errors
    /// [`StoreFault`].
    pub fn load(state: &dyn Snapshot, node: &Node) -> Result<Option<Self>, StoreFault> {
        // What moves a node on, such as a commit or an undo, leaves the record behind.
        match node.progress {
            Progress::Blocked => read_record(state, &Self::key_of(node.id)),
            _ => Ok(None),
        }
    }
}
