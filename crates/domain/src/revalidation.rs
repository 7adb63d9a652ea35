//! Revalidation of stale nodes: keep the text under the changed parent, or object to it.
//!
//! Rewriting a stale node needs no rule here: a new text is observed like any other edit.

use crate::approval::{Approval, ApprovalRefused, Condemnation, ObjectionKind};
use crate::fact::Fact;
use crate::ids::Principal;
use crate::node::{Node, ParentVersion, Status};
use crate::node_reference::parent_path;
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

/// Returns the facts that keep the text of the stale node at `path` under its parent's current text.
///
/// An approved text is approved again, in the name of the caller. `approval` is the result of
/// [`crate::approval::decide_approval`] for the node.
///
/// # Errors
/// [`KeepRefused`]; always for a draft, which has no decision that could be renewed. It is stale
/// while its parent is undecided, and a draft again as soon as the parent is approved.
pub fn keep_stale_node(
    path: &str,
    node: &Node,
    parent: Option<&Node>,
    approval: Result<Approval, ApprovalRefused>,
) -> Result<Vec<Fact>, KeepRefused> {
    // A root is never stale.
    let Some(parent) = parent.filter(|_| node.status() == Status::RequiresRevalidation) else {
        return Err(KeepRefused::NotStale {
            node: path.to_owned(),
            status: node.status(),
        });
    };
    if node.has_approved_text() {
        // Keeping an approved text is an approval: it passes the same rules, so keeping is no way
        // around `policy.approval = "human"`.
        return Ok(approval_facts(node, approval?));
    }
    Err(KeepRefused::ParentNotApproved {
        node: path.to_owned(),
        parent: parent_path(path).to_owned(),
        status: parent.status(),
    })
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

/// Returns the parent version that the parent's present text is compared with for a node's status.
///
/// For an approved text it is the version it was approved against. For a draft it is the approved
/// version of the parent; if the parent still has that text, or was never approved, the present one.
#[must_use]
pub fn compared_parent_version(node: &Node, parent: &Node) -> Option<ParentVersion> {
    match (&node.approval, &parent.approval) {
        (Some(approval), _) if node.has_approved_text() => approval.parent,
        (_, Some(approval)) if !parent.has_approved_text() => Some(ParentVersion {
            version: approval.version,
            canonical: approval.canonical,
        }),
        _ => parent.content.as_parent_version(),
    }
}

/// Returns the facts of an approval; they end the objection that it answers.
#[must_use]
pub fn approval_facts(node: &Node, approval: Approval) -> Vec<Fact> {
    let canonical = approval.canonical;
    let approved = Fact::ApprovalChanged {
        node: node.id,
        before: node.approval.clone(),
        after: Some(approval),
    };
    let ended = node
        .condemnation
        .as_ref()
        .is_some_and(|objection| objection.is_ended_by_approval_of(canonical))
        .then(|| Fact::CondemnationChanged {
            node: node.id,
            before: node.condemnation.clone(),
            after: None,
        });
    [approved].into_iter().chain(ended).collect()
}

/// Returns the facts of an objection to a node's current text. A rejection ends an approval of the
/// same text.
#[must_use]
pub fn objection_facts(
    node: &Node,
    kind: ObjectionKind,
    reason: &str,
    by: &Principal,
    now: Timestamp,
) -> Vec<Fact> {
    let objected = Fact::CondemnationChanged {
        node: node.id,
        before: node.condemnation.clone(),
        after: Some(Condemnation {
            // If the file is missing, the text most likely to come back is the approved one.
            canonical: node
                .content
                .canonical_hash()
                .or_else(|| node.approval.as_ref().map(|approval| approval.canonical)),
            reason: reason.to_owned(),
            by: by.clone(),
            at: now,
            kind,
        }),
    };
    // So that both stand only where two people decided differently in clones of their own.
    let ended = (kind.ends_approval() && node.has_approved_text()).then(|| Fact::ApprovalChanged {
        node: node.id,
        before: node.approval.clone(),
        after: None,
    });
    [objected].into_iter().chain(ended).collect()
}
