//! What the output of a plan (prose, an answer) was written from.

use serde::{Deserialize, Serialize};

use crate::node::{Node, ParentVersion, Status};
use crate::record::Recorded;

/// The version of the plan that an output was written from, by node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProseBasis {
    pub plan: ParentVersion,
}

impl Recorded for ProseBasis {
    const KIND: &'static str = "prose";
}

/// Returns why an output no longer follows from its plan, if it does not.
#[must_use]
pub fn find_stale_reason(node: &Node, basis: Option<ProseBasis>) -> Option<String> {
    if node.status() != Status::Approved {
        return Some(format!("its plan is {}", node.status()));
    }
    // By canonical hash, as the cascade judges: a reformatted plan is the same plan.
    let now = node.content.as_parent_version()?;
    let is_other = basis.is_some_and(|basis| basis.plan.canonical != now.canonical);
    is_other.then(|| "its plan was changed and approved again since it was written".to_owned())
}
