//! Laws of moved plans: nothing is matched twice, nothing ambiguous is guessed, a moved folder is
//! followed whole.

use std::collections::BTreeSet;

use domain::ids::NodeId;
use domain::presence::{PlanIdentity, is_similar_text, match_moved_plans};
use domain::version::canonical_hash;
use proptest::prelude::*;

fn plan(id: u32, parent: Option<u32>, alias: &str, text: &str) -> PlanIdentity {
    PlanIdentity {
        id: NodeId(id),
        parent: parent.map(NodeId),
        profile: "story".to_owned(),
        level: if parent.is_some() { "chapter" } else { "act" }.to_owned(),
        alias: alias.to_owned(),
        canonical: Some(canonical_hash(text)),
    }
}

#[test]
fn stubs_in_a_moved_folder_are_told_apart_by_name() {
    let gone = [
        plan(1, None, "act-1", "the act"),
        plan(2, Some(1), "chapter-01", "stub"),
        plan(3, Some(1), "chapter-02", "stub"),
    ];
    let new = [
        plan(11, None, "act-5", "the act"),
        plan(12, Some(11), "chapter-02", "stub"),
        plan(13, Some(11), "chapter-01", "stub"),
    ];
    let found = match_moved_plans(&gone, &new);
    assert_eq!(
        found.moved,
        [(1, 11), (2, 13), (3, 12)].map(|(from, to)| (NodeId(from), NodeId(to)))
    );
    assert!(found.ambiguous.is_empty());
}

#[test]
fn a_text_that_two_have_is_ambiguous() {
    let gone = [
        plan(1, None, "act-1", "stub"),
        plan(2, None, "act-2", "stub"),
    ];
    let found = match_moved_plans(&gone, &[plan(11, None, "act-3", "stub")]);
    assert!(found.moved.is_empty());
    assert_eq!(
        found.ambiguous,
        [(NodeId(1), NodeId(11)), (NodeId(2), NodeId(11))]
    );
}

#[test]
fn similar_texts_share_half_of_their_lines() {
    let text = "# Chapter\n\nThe storm begins.\nThe lamp goes out.\nNobody sleeps.\n";
    assert!(is_similar_text(
        text,
        &text.replace("Nobody sleeps", "All sleep")
    ));
    assert!(!is_similar_text(
        text,
        "# Chapter\n\nA calm day at last.\n\n---\n"
    ));
    assert!(!is_similar_text("", ""));
}

proptest! {
    #[test]
    fn every_plan_is_matched_at_most_once_and_only_with_its_text(
        gone in prop::collection::vec((0..3u32, 0..4u32), 0..12),
        new in prop::collection::vec((0..3u32, 0..4u32), 0..12),
    ) {
        // Roots only: below a moved parent the name counts, not the text.
        let list = |plans: &[(u32, u32)], first: u32| -> Vec<PlanIdentity> {
            plans
                .iter()
                .zip(first..)
                .map(|((alias, text), id)| plan(id, None, &format!("act-{alias}"), &format!("text {text}")))
                .collect()
        };
        let (gone, new) = (list(&gone, 1), list(&new, 101));
        let found = match_moved_plans(&gone, &new);
        let (from, to): (BTreeSet<_>, BTreeSet<_>) = found.moved.iter().copied().unzip();
        prop_assert_eq!(from.len(), found.moved.len());
        prop_assert_eq!(to.len(), found.moved.len());
        let text_of = |plans: &[PlanIdentity], id| {
            plans.iter().find(|plan| plan.id == id).and_then(|plan| plan.canonical)
        };
        for (from, to) in &found.moved {
            let text = text_of(&gone, *from);
            prop_assert_eq!(text, text_of(&new, *to));
            let same = |plans: &[PlanIdentity]| plans.iter().filter(|plan| plan.canonical == text).count();
            prop_assert_eq!((same(&gone), same(&new)), (1, 1));
        }
        for (from, to) in &found.ambiguous {
            prop_assert_eq!(text_of(&gone, *from), text_of(&new, *to));
        }
    }
}
