//! Move of a plan that only a scan has seen: no decision tells other clones of it yet.

use serde::{Deserialize, Serialize};

use crate::record::Recorded;

/// Where the decisions about a node belong since a scan found its plan at another place. A record,
/// keyed by the node that the decisions name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowedMove {
    /// The node, as [`crate::ports::NodeKey`] renders it.
    pub node: String,
    /// The plan's file there, where several plans can have one id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_file: Option<String>,
}

impl Recorded for FollowedMove {
    const KIND: &'static str = "followed-move";
}
