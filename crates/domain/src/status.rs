//! Derives a node's status from its text, its approval and its parent.
//!
//! A pure function of contents and decisions: [`derive_status`] keeps no state and never looks at the
//! previous status, at file times or at earlier texts. So it does not matter whether a file was
//! changed by an agent's tool, a shell, an editor or git, in which order the changes were noticed,
//! or whether this store was there when they were made: a fresh clone shows the same statuses.

use crate::approval::ObjectionKind;
use crate::ids::{CanonicalHash, NodeId};
use crate::node::{CauseKind, NodeStatus, Status};
use crate::policy::ApprovalPolicy;

/// The inputs of a node's status, without any text: small enough to load a whole subtree at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusInputs {
    pub id: NodeId,
    pub parent: Option<NodeId>,
    pub text: TextState,
    pub approval: Option<ApprovalInputs>,
    pub condemnation: Option<ObjectionInputs>,
    /// The recorded status, which may change.
    pub standing: NodeStatus,
}

/// The state of a node's text, as far as the status depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextState {
    Text { canonical: CanonicalHash },
    Missing,
    Unreadable,
}

/// The parts of an approval the status depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApprovalInputs {
    pub canonical: CanonicalHash,
    pub parent: Option<CanonicalHash>,
    /// Whether a person gave it; under `policy.approval = "human"` no other approval counts.
    pub by_person: bool,
}

/// The parts of an objection the status depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectionInputs {
    /// The text objected to; `None` when there was none.
    pub canonical: Option<CanonicalHash>,
    pub kind: ObjectionKind,
}

/// The parts of a parent its children's statuses depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParentState {
    pub status: Status,
    pub canonical: Option<CanonicalHash>,
    /// The parent's approval, which may be of another text than the present one.
    pub approval: Option<ApprovalInputs>,
}

/// Decides whether a change of the parent's text makes an approved child stale.
///
/// Called only when the parent's text differs from the one the child was approved against. The deep
/// cascade always returns true; the precise one compares the sections the child relies on.
pub type ParentChangeTest<'a> = &'a dyn Fn(&StatusInputs) -> bool;

/// The rules by which a status is derived from its inputs.
#[derive(Clone, Copy)]
pub struct StatusRules<'a> {
    /// Whether approvals by agents count.
    pub approval: ApprovalPolicy,
    pub moved: ParentChangeTest<'a>,
}

/// The rule of the deep cascade: every change of the parent makes its children stale.
#[must_use]
pub fn any_change_counts(_child: &StatusInputs) -> bool {
    true
}

/// A derived status with its kind of cause, if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DerivedStatus {
    pub status: Status,
    pub cause: Option<CauseKind>,
}

/// Derives the status from the inputs, the parent's state and the rules.
#[must_use]
pub fn derive_status(
    footing: &StatusInputs,
    parent: Option<ParentState>,
    rules: StatusRules<'_>,
) -> DerivedStatus {
    let stale = |cause| DerivedStatus {
        status: Status::RequiresRevalidation,
        cause: Some(cause),
    };
    let invalid = |cause| DerivedStatus {
        status: Status::Invalid,
        cause: Some(cause),
    };

    let canonical = match footing.text {
        TextState::Missing => return invalid(CauseKind::FileMissing),
        TextState::Unreadable => return invalid(CauseKind::FileUnreadable),
        TextState::Text { canonical } => canonical,
    };
    let objection = footing
        .condemnation
        .filter(|objection| objection.canonical == Some(canonical))
        .map(|objection| objection.kind);
    if objection == Some(ObjectionKind::Rejected) {
        return invalid(CauseKind::Condemned);
    }

    // The policy is applied here and not only when an approval is given: an agent that set the
    // policy to `anyone`, approved its plan and set the policy back would otherwise leave an
    // approved plan behind.
    let approval = footing.approval.filter(|approval| {
        approval.canonical == canonical
            && rules.approval.accepts_person(approval.by_person)
            // Both are in force after a merge of two clones; the stricter holds.
            && objection != Some(ObjectionKind::ChangesRequested)
    });
    if objection == Some(ObjectionKind::RevalidationRequired) {
        return stale(CauseKind::RevalidationRequired);
    }
    let settled = DerivedStatus {
        status: if approval.is_some() {
            Status::Approved
        } else {
            Status::Draft
        },
        cause: None,
    };
    let Some(parent) = parent else { return settled };

    // Without a hash on one side (the parent had or has no readable text) there is nothing to
    // compare; the parent's own status below still decides.
    if let Some(now) = parent.canonical {
        let parent_changed = match approval {
            Some(approval) => {
                approval.parent.is_some_and(|against| against != now) && (rules.moved)(footing)
            }
            // Which parent text a draft was written against is known only to the machine that saw
            // it being written, so it cannot count. What counts is the last decision about the
            // parent: while it was changed after its approval, everything below it is in question.
            None => parent.approval.is_some_and(|approval| {
                approval.canonical != now && rules.approval.accepts_person(approval.by_person)
            }),
        };
        if parent_changed {
            return stale(CauseKind::ParentChanged);
        }
    }
    match parent.status {
        Status::Approved => settled,
        Status::Invalid => stale(CauseKind::ParentInvalid),
        Status::RequiresRevalidation => stale(CauseKind::ParentChanged),
        // An approval requires an approved parent; a draft may be written below a draft.
        Status::Draft if approval.is_some() => stale(CauseKind::ParentNotApproved),
        Status::Draft => settled,
    }
}
