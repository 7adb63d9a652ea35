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

/// `text`, `approved@parent` (or `-`), `parent-text:status` or `parent-text/its-approved-text:status` (or `-`).
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
                canonical: hash(words),
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
    let parent = parent.split_once(':').map(|(text, status)| {
        let (text, approved) = match text.split_once('/') {
            Some((text, approved)) => (text, Some(approved)),
            None => (text, None),
        };
        ParentState {
            status: Status::ALL
                .into_iter()
                .find(|known| known.as_str() == status)
                .unwrap(),
            canonical: (text != "-").then(|| hash(text)),
            approval: approved.map(|approved| ApprovalInputs {
                canonical: hash(approved),
                parent: None,
                by_person,
            }),
        }
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
        let below = judged("a", "a@p", by_person, "p/p:approved", policy).status;
        assert_eq!(below, expected, "below a parent: {by_person} {policy:?}");
        // Nor is a parent changed after an approval that does not count.
        let changed = judged("a", "-", by_person, "q/p:draft", policy).status;
        let expected = match expected {
            Status::Approved => Status::RequiresRevalidation,
            other => other,
        };
        assert_eq!(changed, expected, "below a change: {by_person} {policy:?}");
    }
    // What it was approved against says nothing either.
    let moved_on = judged("a", "a@p", false, "q:approved", Human);
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
    check("a", "a@p", "p:approved", Approved, None);
    check("b", "a@p", "p:approved", Draft, None);
    check("a", "-", "p:draft", Draft, None);
    check(
        "a",
        "a@p",
        "p:draft",
        RequiresRevalidation,
        Some(ParentNotApproved),
    );
    check(
        "a",
        "a@p",
        "p:requires-revalidation",
        RequiresRevalidation,
        Some(ParentChanged),
    );
    check(
        "a",
        "-",
        "p:requires-revalidation",
        RequiresRevalidation,
        Some(ParentChanged),
    );
    check(
        "a",
        "a@p",
        "p:invalid",
        RequiresRevalidation,
        Some(ParentInvalid),
    );
    check(
        "a",
        "a@p",
        "-:invalid",
        RequiresRevalidation,
        Some(ParentInvalid),
    );
    // Below a parent that moved on.
    check(
        "a",
        "a@p",
        "q:approved",
        RequiresRevalidation,
        Some(ParentChanged),
    );
    check(
        "a",
        "a@p",
        "q:draft",
        RequiresRevalidation,
        Some(ParentChanged),
    );
    check("a", "a@q", "q/q:approved", Approved, None);
    // A draft below a parent that was approved for another text than it has.
    check(
        "a",
        "-",
        "q/p:draft",
        RequiresRevalidation,
        Some(ParentChanged),
    );
    check(
        "b",
        "a@p",
        "q/p:draft",
        RequiresRevalidation,
        Some(ParentChanged),
    );
    // The parent's new text is approved, or its approved one is back: whatever the draft was
    // written against, it is a draft.
    check("a", "-", "q/q:approved", Draft, None);
    check("b", "a@p", "q/q:approved", Draft, None);
    check("b", "a@p", "p/p:approved", Draft, None);
    // Never approved.
    check("a", "-", "p:draft", Draft, None);
    // Changed, and its file is not there now.
    check(
        "a",
        "-",
        "-/p:invalid",
        RequiresRevalidation,
        Some(ParentInvalid),
    );
    // Nothing about the parent outweighs a missing file.
    check("missing", "a@p", "q:invalid", Invalid, Some(FileMissing));
}
