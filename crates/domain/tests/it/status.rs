//! The table of statuses.

use domain::ids::{CanonicalHash, Digest32, NodeId};
use domain::node::{CauseKind, Standing, Status};
use domain::status::{ApprovalFooting, Footing, Judgement, ParentFooting, TextFooting, any_change_counts, judge};

fn hash(of: &str) -> CanonicalHash {
    CanonicalHash(Digest32::of(of.as_bytes()))
}

/// `text@basis`, `approved@parent` (or `-`), `parent-text:status` (or `-`).
fn check(text: &str, approval: &str, parent: &str, expected: Status, cause: Option<CauseKind>) {
    let pair = |words: &str| {
        let (one, other) = words.split_once('@').unwrap_or((words, "-"));
        (hash(one), Some(other).filter(|other| *other != "-").map(hash))
    };
    let footing = Footing {
        id: NodeId(1),
        parent: Some(NodeId(2)),
        text: match text {
            "missing" => TextFooting::Missing,
            "unreadable" => TextFooting::Unreadable,
            words => TextFooting::Text { canonical: pair(words).0, basis: pair(words).1 },
        },
        approval: (approval != "-").then(|| ApprovalFooting { canonical: pair(approval).0, parent: pair(approval).1 }),
        condemnation: None,
        standing: Standing::plain(Status::Draft),
    };
    let parent = parent.split_once(':').map(|(text, status)| ParentFooting {
        status: Status::ALL.into_iter().find(|known| known.word() == status).unwrap(),
        canonical: (text != "-").then(|| hash(text)),
    });
    let found = judge(&footing, parent, &any_change_counts);
    assert_eq!(found, Judgement { status: expected, cause }, "{text} {approval} {parent:?}");
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
    check("a@p", "a@p", "p:draft", RequiresRevalidation, Some(ParentNotApproved));
    check("a@p", "a@p", "p:requires-revalidation", RequiresRevalidation, Some(ParentChanged));
    check("a@p", "-", "p:requires-revalidation", RequiresRevalidation, Some(ParentChanged));
    check("a@p", "a@p", "p:invalid", RequiresRevalidation, Some(ParentInvalid));
    check("a@p", "a@p", "-:invalid", RequiresRevalidation, Some(ParentInvalid));
    // Below a parent that moved on.
    check("a@p", "a@p", "q:approved", RequiresRevalidation, Some(ParentChanged));
    check("a@p", "a@p", "q:draft", RequiresRevalidation, Some(ParentChanged));
    check("a@p", "-", "q:approved", RequiresRevalidation, Some(ParentChanged));
    // Approved against the new parent although it was written against the old one.
    check("a@p", "a@q", "q:approved", Approved, None);
    // Rewritten against the new parent.
    check("b@q", "a@p", "q:approved", Draft, None);
    // A draft that was first seen before its parent had a text.
    check("a", "-", "p:approved", Draft, None);
    // Nothing about the parent outweighs a missing file.
    check("missing", "a@p", "q:invalid", Invalid, Some(FileMissing));
}
