//! Revalidation of stale nodes: keep the text under the changed parent, or condemn it.
//!
//! Rewriting a stale node needs no rule here: a new text is observed like any other edit.

use crate::approval::{Approval, ApprovalRefused};
use crate::fact::Fact;
use crate::ids::Principal;
use crate::node::{Content, Node, Status};
use crate::time::Timestamp;
use crate::tree::Tree;

/// Why a node cannot be kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeepRefused {
    #[error("`{node}` is `{status}`: there is nothing to revalidate")]
    NotStale { node: String, status: Status },
    #[error("cannot keep `{node}`: parent `{parent}` is `{status}`, expected `approved`")]
    ParentNotApproved {
        node: String,
        parent: String,
        status: Status,
    },
    #[error(transparent)]
    Approval(#[from] ApprovalRefused),
}

/// Returns the facts that keep a stale node's text under its parent's current text.
///
/// An approved text is approved again, in the name of the caller; a draft stays a draft.
/// `approval` is the result of [`crate::approval::decide`] for the node.
///
/// # Errors
/// [`KeepRefused`].
pub fn keep_stale_node(
    node: &Node,
    parent: Option<&Node>,
    approval: Result<Approval, ApprovalRefused>,
) -> Result<Vec<Fact>, KeepRefused> {
    if node.status() != Status::RequiresRevalidation {
        return Err(KeepRefused::NotStale {
            node: node.alias.clone(),
            status: node.status(),
        });
    }
    if node.has_approved_text() {
        // Keeping an approved text is an approval: it passes the same rules, so keeping is no way
        // around `policy.approval = "human"`.
        let approval = approval?;
        return Ok(vec![Fact::ApprovalChanged {
            node: node.id,
            before: node.approval.clone(),
            after: Some(approval),
        }]);
    }
    let basis = parent.and_then(|parent| parent.content.as_parent_version());
    let after = match &node.content {
        Content::Text {
            version, canonical, ..
        } => Content::Text {
            version: *version,
            canonical: *canonical,
            basis,
        },
        other => other.clone(),
    };
    // A draft may be kept below a draft, but not below a stale or invalid parent: it would be stale
    // again at once.
    match parent {
        Some(parent)
            if matches!(
                parent.status(),
                Status::RequiresRevalidation | Status::Invalid
            ) =>
        {
            Err(KeepRefused::ParentNotApproved {
                node: node.alias.clone(),
                parent: parent.alias.clone(),
                status: parent.status(),
            })
        }
        _ => Ok(vec![Fact::ContentChanged {
            node: node.id,
            before: node.content.clone(),
            after,
        }]),
    }
}

/// Returns the stale nodes among `within`, most urgent first.
///
/// Nodes nearer to the root come first, because deciding on them settles their descendants; then
/// approved texts, then the ones that have been stale longest.
#[must_use]
pub fn stale_by_urgency<'t>(tree: &'t Tree, within: &[&'t Node]) -> Vec<&'t Node> {
    let mut stale: Vec<&Node> = within
        .iter()
        .copied()
        .filter(|node| node.status() == Status::RequiresRevalidation)
        .collect();
    stale.sort_by_key(|node| {
        (
            tree.ancestors(node).len(),
            !node.has_approved_text(),
            node.standing.since,
            node.order,
        )
    });
    stale
}

/// Returns the parent version a stale node was written or approved against.
#[must_use]
pub fn basis_of_stale_node(node: &Node) -> Option<crate::node::ParentVersion> {
    match &node.approval {
        Some(approval) if node.has_approved_text() => approval.parent,
        _ => node.content.basis(),
    }
}

/// Returns the fact that condemns a node's current text.
#[must_use]
pub fn condemnation_fact(node: &Node, reason: &str, by: &Principal, now: Timestamp) -> Fact {
    Fact::CondemnationChanged {
        node: node.id,
        before: node.condemnation.clone(),
        after: Some(crate::approval::Condemnation {
            // If the file is missing, the text most likely to come back is the approved one.
            canonical: node
                .content
                .canonical_hash()
                .or_else(|| node.approval.as_ref().map(|approval| approval.canonical)),
            reason: reason.to_owned(),
            by: by.clone(),
            at: now,
        }),
    }
}
