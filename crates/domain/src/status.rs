//! Status as a function of facts: what a node's text is, what was approved, what its parent is now.
//!
//! Nothing here remembers a status; [`judge`] derives it. That is why it does not matter whether a
//! file was changed by an agent's tool, a shell, an editor or git.

use crate::ids::{CanonicalHash, NodeId};
use crate::node::{CauseKind, Standing, Status};
use crate::policy::ApprovalPolicy;

/// What a node's status rests on, without the words: small enough to judge a whole subtree at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Footing {
    pub id: NodeId,
    pub parent: Option<NodeId>,
    pub text: TextFooting,
    pub approval: Option<ApprovalFooting>,
    /// Present when condemned: the text that was condemned, or `None` when there was no text.
    pub condemnation: Option<Option<CanonicalHash>>,
    /// The status recorded until now.
    pub standing: Standing,
}

/// The text behind a node, as far as its status goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFooting {
    Text {
        canonical: CanonicalHash,
        basis: Option<CanonicalHash>,
    },
    Missing,
    Unreadable,
}

/// An approval, as far as a status goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApprovalFooting {
    pub canonical: CanonicalHash,
    pub parent: Option<CanonicalHash>,
    /// Whether a person gave it.
    pub by_person: bool,
}

/// A parent as its children's status sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParentFooting {
    pub status: Status,
    pub canonical: Option<CanonicalHash>,
}

/// Says whether the parent's text moved away from under a child.
///
/// `against` is the parent's text the child was written or approved against, `now` the present one.
/// Asked only when the two differ. The deep cascade always answers yes; the precise one looks at the
/// sections the child relies on.
pub type Moved<'a> = &'a dyn Fn(&Footing, CanonicalHash, CanonicalHash) -> bool;

/// What a status is judged by, besides the facts.
#[derive(Clone, Copy)]
pub struct JudgingRules<'a> {
    /// Whose approvals count.
    pub approval: ApprovalPolicy,
    pub moved: Moved<'a>,
}

/// The deep cascade's answer: any change of the parent counts.
#[must_use]
pub fn any_change_counts(_child: &Footing, _against: CanonicalHash, _now: CanonicalHash) -> bool {
    true
}

/// A status with the kind of cause, where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub status: Status,
    pub cause: Option<CauseKind>,
}

/// Returns the status that follows from the facts.
#[must_use]
pub fn judge(
    footing: &Footing,
    parent: Option<ParentFooting>,
    rules: JudgingRules<'_>,
) -> Judgement {
    let stale = |cause| Judgement {
        status: Status::RequiresRevalidation,
        cause: Some(cause),
    };
    let invalid = |cause| Judgement {
        status: Status::Invalid,
        cause: Some(cause),
    };

    let (canonical, basis) = match footing.text {
        TextFooting::Missing => return invalid(CauseKind::FileMissing),
        TextFooting::Unreadable => return invalid(CauseKind::FileUnreadable),
        TextFooting::Text { canonical, basis } => (canonical, basis),
    };
    if footing.condemnation == Some(Some(canonical)) {
        return invalid(CauseKind::Condemned);
    }

    // An approval that does not count leaves the text a draft, whenever it was given.
    let approval = footing.approval.filter(|approval| {
        approval.canonical == canonical && rules.approval.accepts_person(approval.by_person)
    });
    let settled = Judgement {
        status: if approval.is_some() {
            Status::Approved
        } else {
            Status::Draft
        },
        cause: None,
    };
    let Some(parent) = parent else { return settled };

    let against = match approval {
        Some(approval) => approval.parent,
        None => basis,
    };
    if let (Some(against), Some(now)) = (against, parent.canonical)
        && against != now
        && (rules.moved)(footing, against, now)
    {
        return stale(CauseKind::ParentChanged);
    }
    match parent.status {
        Status::Approved => settled,
        Status::Invalid => stale(CauseKind::ParentInvalid),
        Status::RequiresRevalidation => stale(CauseKind::ParentChanged),
        // An approval stands on an approved parent; a draft may well be written below a draft.
        Status::Draft if approval.is_some() => stale(CauseKind::ParentNotApproved),
        Status::Draft => settled,
    }
}
