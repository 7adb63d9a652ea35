//! Comments: what a person says about a plan without deciding. The agent that works on it is told.

use serde::{Deserialize, Serialize};

use crate::ids::{NodeId, OperationId, Principal};
use crate::node::Node;
use crate::record::Recorded;
use crate::time::Timestamp;

/// So many characters a comment may have.
pub const LONGEST_COMMENT: usize = 10_000;

/// What somebody said about a node. A record, by node and operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    pub node: NodeId,
    /// The operation that recorded it: whoever knows an older one has not heard it.
    pub operation: OperationId,
    pub by: Principal,
    pub at: Timestamp,
    pub text: String,
}

impl Recorded for Comment {
    const KIND: &'static str = "comment";
}

impl Comment {
    /// Returns under which key it is kept: a node's comments stand together, in order.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}{:012}", prefix(self.node), self.operation.0)
    }

    /// Says whether it still waits for an answer: nothing happened to the plan since.
    #[must_use]
    pub fn is_open(&self, node: &Node) -> bool {
        self.at >= node.updated_at
    }
}

/// Returns what the keys of a node's comments begin with.
#[must_use]
pub fn prefix(node: NodeId) -> String {
    format!("{}/", node.0)
}
