//! Which of several plans with one id a decision is about.
//!
//! A merge or a copied folder gives two plans one id. Their labels follow from what else is in the
//! tree, so a decision names the id and the file of its plan; every clone then gives it to the same one.

use super::{Decision, KnownDecision};
use crate::duplicate_ids::{id_of_alias, is_duplicate};

/// A plan, among those that have its id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdHolder {
    /// Whether it is shown by a label, because another one has the id.
    pub is_labelled: bool,
    pub file: Option<String>,
    /// The files of the others.
    pub other_files: Vec<String>,
}

impl IdHolder {
    /// Keeps the decisions about this plan among those about its id.
    #[must_use]
    pub fn select_decisions(&self, mut known: Vec<KnownDecision>) -> Vec<KnownDecision> {
        // By the last decision that supersedes it: the plan's file may have been renamed in between,
        // and what is superseded has to stay with what supersedes it.
        let held: Vec<bool> = known
            .iter()
            .map(|one| self.holds_decision(&last_follower(&known, one).decision))
            .collect();
        let mut held = held.into_iter();
        known.retain(|_| held.next().unwrap_or(false));
        known
    }

    /// Whether a decision about the id is about this plan.
    #[must_use]
    pub fn holds_decision(&self, decision: &Decision) -> bool {
        match &decision.plan_file {
            Some(file) if self.file.as_ref() == Some(file) => true,
            Some(file) if self.other_files.contains(file) => false,
            // Its folder was renamed since, or it is of a time in which decisions named no file.
            // The plan with the id itself: every clone has the same one.
            _ => !self.is_labelled,
        }
    }
}

/// Returns the decision that supersedes one, past those that are superseded themselves.
fn last_follower<'k>(known: &'k [KnownDecision], one: &'k KnownDecision) -> &'k KnownDecision {
    let mut last = one;
    // Limited, because files can be forged to supersede each other.
    for _ in 0..known.len() {
        let follows = |other: &&KnownDecision| {
            let id = last.id.as_ref();
            id.is_some_and(|id| other.decision.supersedes.contains(id))
        };
        // Of several the same one in every clone.
        match known.iter().filter(follows).min_by_key(|other| &other.id) {
            Some(next) => last = next,
            None => break,
        }
    }
    last
}

/// Returns a path of aliases with the ids of the nodes: decisions are kept by id, whatever the label.
#[must_use]
pub fn ids_of_path(path: &str) -> String {
    let ids: Vec<&str> = path.split('/').map(id_of_alias).collect();
    ids.join("/")
}

/// Whether a node or one above it is shown by a label.
#[must_use]
pub fn is_labelled_path(path: &str) -> bool {
    path.split('/').any(is_duplicate)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::decision::{DecisionId, Verdict};
    use crate::duplicate_ids::label_alias;
    use crate::ids::Principal;
    use crate::node::Progress;
    use crate::time::Timestamp;

    fn decision(file: Option<String>) -> Decision {
        Decision {
            node: "tickets:002".to_owned(),
            what: Verdict::Progress {
                progress: Progress::Complete,
            },
            by: Principal::System,
            at: Timestamp::from_millis(1),
            supersedes: Vec::new(),
            signature: None,
            plan_file: file,
        }
    }

    fn known(id: char, decision: Decision) -> KnownDecision {
        KnownDecision {
            id: DecisionId::parse_id(&id.to_string().repeat(40)),
            decision,
            present: true,
            trusted: true,
            vanished: false,
            signature_problem: None,
            original: None,
        }
    }

    #[test]
    fn a_superseded_decision_stays_with_the_one_that_supersedes_it() {
        let before_rename = known('a', decision(Some(file(9))));
        let mut after = known('b', decision(Some(file(1))));
        after.decision.supersedes.extend(before_rename.id.clone());
        let all = vec![before_rename, after];
        let first = IdHolder {
            is_labelled: false,
            file: Some(file(0)),
            other_files: vec![file(1)],
        };
        let second = IdHolder {
            is_labelled: true,
            file: Some(file(1)),
            other_files: vec![file(0)],
        };
        assert!(first.select_decisions(all.clone()).is_empty());
        assert_eq!(second.select_decisions(all.clone()), all);
    }

    fn file(number: usize) -> String {
        format!("tickets/002-{number}/ticket.md")
    }

    #[test]
    fn ids_and_labels_of_a_path() {
        assert_eq!(ids_of_path("002~2/one"), "002/one");
        assert_eq!(ids_of_path("act-1/chapter-02"), "act-1/chapter-02");
        assert!(is_labelled_path("002~2/one"));
        assert!(!is_labelled_path("002/one"));
    }

    proptest! {
        #[test]
        fn every_decision_is_about_exactly_one_plan_and_about_its_own_if_that_is_there(
            plans in 1_usize..5,
            named in prop::option::of(0_usize..7),
        ) {
            let holders: Vec<IdHolder> = (0..plans)
                .map(|own| IdHolder {
                    is_labelled: is_duplicate(&label_alias("002", own)),
                    file: Some(file(own)),
                    other_files: (0..plans).filter(|other| *other != own).map(file).collect(),
                })
                .collect();
            let decision = decision(named.map(file));
            let held: Vec<usize> = (0..plans)
                .filter(|own| holders[*own].holds_decision(&decision))
                .collect();
            let expected = named.filter(|own| *own < plans).unwrap_or(0);
            prop_assert_eq!(held, vec![expected]);
        }
    }
}
