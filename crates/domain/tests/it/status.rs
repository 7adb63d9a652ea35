//! The table of statuses.

use domain::ids::{CanonicalHash, Digest32, NodeId};
use domain::node::{CauseKind, NodeStatus, Status};
use domain::policy::ApprovalPolicy;
use domain::status::{
    ApprovalInputs, DerivedStatus, ParentState, StatusInputs, StatusRules, TextState,
    any_change_counts, derive_status,
};

fn hash(of: &str) -> CanonicalHash {
    CanonicalHash(Digest32::of_bytes(of.as_bytes()))
}

/// `text@basis`, `approved@parent` (or `-`), `parent-text:status` (or `-`).
fn check(text: &str, approval: &str, parent: &str, expected: Status, cause: Option<CauseKind>) {
    let found = judged(text, approval, true, parent, ApprovalPolicy::Anyone);
    assert_eq!(
        found,
        DerivedStatus {
            status: expected,
            cause
        },
        "{text} {approval} {parent:?}"
    );
}

fn judged(
    text: &str,
    approval: &str,
    by_person: bool,
    parent: &str,
    policy: ApprovalPolicy,
) -> DerivedStatus {
    let pair = |words: &str| {
        let (one, other) = words.split_once('@').unwrap_or((words, "-"));
        (
            hash(one),
            Some(other).filter(|other| *other != "-").map(hash),
        )
    };
    let footing = StatusInputs {
        id: NodeId(1),
        parent: Some(NodeId(2)),
        text: match text {
            "missing" => TextState::Missing,
            "unreadable" => TextState::Unreadable,
            words => TextState::Text {
                canonical: pair(words).0,
                basis: pair(words).1,
            },
        },
        approval: (approval != "-").then(|| ApprovalInputs {
            canonical: pair(approval).0,
            parent: pair(approval).1,
            by_person,
        }),
        condemnation: None,
        standing: NodeStatus::without_cause(Status::Draft),
    };
    let parent = parent.split_once(':').map(|(text, status)| ParentState {
        status: Status::ALL
            .into_iter()
            .find(|known| known.as_str() == status)
            .unwrap(),
        canonical: (text != "-").then(|| hash(text)),
    });
    derive_status(
        &footing,
        parent,
        StatusRules {
            approval: policy,
            moved: &any_change_counts,
        },
    )
}

#[test]
fn under_human_an_approval_by_an_agent_leaves_the_text_a_draft() {
    use ApprovalPolicy::{Anyone, Human};
    for (by_person, policy, expected) in [
        (true, Anyone, Status::Approved),
        (true, Human, Status::Approved),
        (false, Anyone, Status::Approved),
        (false, Human, Status::Draft),
    ] {
        assert_eq!(
            judged("a", "a", by_person, "-", policy).status,
            expected,
            "{by_person} {policy:?}"
        );
        let below = judged("a@p", "a@p", by_person, "p:approved", policy).status;
        assert_eq!(below, expected, "below a parent: {by_person} {policy:?}");
    }
    // What it was approved against says nothing either: the text's own basis does.
    let moved_on = judged("a@q", "a@p", false, "q:approved", Human);
    assert_eq!(moved_on.status, Status::Draft);
}

#[test]
fn follows_from_the_facts() {
    use CauseKind::{FileMissing, FileUnreadable, ParentChanged, ParentInvalid, ParentNotApproved};
    use Status::{Approved, Draft, Invalid, RequiresRevalidation};
    // A root.
    check("a", "-", "-", Draft, None);
    check("a", "a", "-", Approved, None);
    check("b", "a", "-", Draft, None);
    check("missing", "a", "-", Invalid, Some(FileMissing));
    check("unreadable", "a", "-", Invalid, Some(FileUnreadable));
    // Below a parent that is as it was.
    check("a@p", "a@p", "p:approved", Approved, None);
    check("b@p", "a@p", "p:approved", Draft, None);
    check("a@p", "-", "p:draft", Draft, None);
    check(
        "a@p",
        "a@p",
        "p:draft",
        RequiresRevalidation,
        Some(ParentNotApproved),
    );
    check(
        "a@p",
        "a@p",
        "p:requires-revalidation",
        RequiresRevalidation,
        Some(ParentChanged),
    );
    check(
        "a@p",
        "-",
        "p:requires-revalidation",
        RequiresRevalidation,
        Some(ParentChanged),
    );
    check(
        "a@p",
        "a@p",
        "p:invalid",
        RequiresRevalidation,
        Some(ParentInvalid),
    );
    check(
        "a@p",
        "a@p",
        "-:invalid",
        RequiresRevalidation,
        Some(ParentInvalid),
    );
    // Below a parent that moved on.
    check(
        "a@p",
        "a@p",
        "q:approved",
        RequiresRevalidation,
        Some(ParentChanged),
    );
    check(
        "a@p",
        "a@p",
        "q:draft",
        RequiresRevalidation,
        Some(ParentChanged),
    );
    check(
        "a@p",
        "-",
        "q:approved",
        RequiresRevalidation,
        Some(ParentChanged),
    );
    // Approved against the new parent although it was written against the old one.
    check("a@p", "a@q", "q:approved", Approved, None);
    // Rewritten against the new parent.
    check("b@q", "a@p", "q:approved", Draft, None);
    // A draft that was first seen before its parent had a text.
    check("a", "-", "p:approved", Draft, None);
    // Nothing about the parent outweighs a missing file.
    check("missing", "a@p", "q:invalid", Invalid, Some(FileMissing));
}
