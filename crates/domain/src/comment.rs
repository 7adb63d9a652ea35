//! Comments on a plan: feedback without a decision, delivered to the agent that works on it.

use serde::{Deserialize, Serialize};

use crate::decision::DecisionId;
use crate::ids::{NodeId, OperationId, Principal};
use crate::node::Node;
use crate::record::Recorded;
use crate::time::Timestamp;

/// Maximum length of a comment, in characters.
pub const MAX_COMMENT_CHARS: usize = 10_000;

/// A comment on a node; a record, keyed by node and operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    pub node: NodeId,
    /// The operation that recorded it; a session that last saw an older one has not received it.
    pub operation: OperationId,
    pub by: Principal,
    pub at: Timestamp,
    pub text: String,
    /// Its decision, where decisions are files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<DecisionId>,
    /// When a shape change rewrote the plan's references while the comment was open: that change is
    /// no answer to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried_at: Option<Timestamp>,
}

impl Recorded for Comment {
    const KIND: &'static str = "comment";
}

impl Comment {
    /// Returns the record key; a node's comments sort together, oldest first.
    #[must_use]
    pub fn record_key(&self) -> String {
        // Zero-padded, because keys are sorted as text.
        let key = format!("{}{:012}", comment_key_prefix(self.node), self.operation.0);
        // One operation can receive several comments.
        match &self.decision {
            Some(decision) => format!("{key}-{}", decision.short_id()),
            None => key,
        }
    }

    /// Whether the comment is open: the plan was neither changed nor decided on since.
    #[must_use]
    pub fn is_open(&self, node: &Node) -> bool {
        // There is no "resolved" flag to forget: any change of the node counts as the answer.
        let open_since = self.carried_at.unwrap_or(self.at).max(self.at);
        open_since >= node.updated_at
    }
}

/// Returns the key prefix of a node's comments.
#[must_use]
pub fn comment_key_prefix(node: NodeId) -> String {
    format!("{}/", node.0)
}
