//! Which decisions are in force, and what follows from them for a node.
//!
//! Pure functions of the decisions and the present texts: the order in which they arrived, the
//! machine and its clock do not matter.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Decision, DecisionId, KnownDecision, Verdict};
use crate::approval::{Approval, Condemnation};
use crate::ids::{CanonicalHash, Principal};
use crate::node::Progress;
use crate::time::Timestamp;

/// The part of a node's state a decision is about; decisions supersede others of the same aspect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aspect {
    /// Approved, rejected, changes requested, or to be revalidated.
    Verdict,
    Progress,
    Comment,
    Note,
    Override,
    Review,
    Place,
    Evidence,
}

impl Verdict {
    /// Returns the aspect it decides.
    #[must_use]
    pub fn aspect(&self) -> Aspect {
        match self {
            Self::Approved { .. }
            | Self::Rejected { .. }
            | Self::ChangesRequested { .. }
            | Self::RevalidationRequired { .. } => Aspect::Verdict,
            Self::Progress { .. } => Aspect::Progress,
            Self::Commented { .. } => Aspect::Comment,
            Self::Noted { .. } => Aspect::Note,
            Self::Overridden { .. } => Aspect::Override,
            Self::Reviewed(_) => Aspect::Review,
            Self::Carried { .. } => Aspect::Place,
            Self::Proved(_) => Aspect::Evidence,
            Self::Withdrawn { aspect } => *aspect,
        }
    }
}

/// Whether and how a node is decided on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeVerdict {
    pub approval: Option<Approval>,
    pub condemnation: Option<Condemnation>,
}

/// What follows from a node's decisions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StandingDecisions {
    pub verdict: NodeVerdict,
    /// `None` when no decision is about it.
    pub progress: Option<Progress>,
}

/// Returns the decisions of a node that count and that no other one supersedes, sorted by id.
#[must_use]
pub fn decisions_in_force(known: &[KnownDecision]) -> Vec<&KnownDecision> {
    let superseded: BTreeSet<&DecisionId> = known
        .iter()
        // Only what counts supersedes: a decision that nobody trusts must not take back an
        // approval, and one that went with its branch takes back nothing here.
        .filter(|known| known.counts())
        .flat_map(|known| &known.decision.supersedes)
        .collect();
    let mut found: Vec<&KnownDecision> = known
        .iter()
        .filter(|known| known.counts())
        .filter(|known| known.id.as_ref().is_none_or(|id| !superseded.contains(id)))
        .collect();
    // By id, not by arrival: every clone has to list them alike.
    found.sort_by(|a, b| a.id.cmp(&b.id));
    found
}

/// Returns the decisions that a new one supersedes, sorted.
///
/// An approval ends every earlier verdict except the rejection of another text, and a rejection
/// leaves the approval of another text alone: that text may come back.
#[must_use]
pub fn superseded_by(known: &[KnownDecision], new: &Verdict) -> Vec<DecisionId> {
    let ends = |old: &Verdict| match (new, old) {
        // Each stands for itself.
        (
            Verdict::Commented { .. }
            | Verdict::Noted { .. }
            | Verdict::Overridden { .. }
            | Verdict::Carried { .. },
            _,
        ) => false,
        (Verdict::Reviewed(new), Verdict::Reviewed(old)) => new.supersedes_verdict(old),
        (Verdict::Proved(new), Verdict::Proved(old)) => new.check == old.check,
        // Without a text the whole plan is rejected, whatever was approved.
        (Verdict::Rejected { text, .. }, Verdict::Approved { text: approved, .. }) => {
            text.is_none_or(|text| text == *approved)
        }
        (Verdict::Approved { text, .. }, Verdict::Rejected { text: rejected, .. }) => {
            rejected.is_none_or(|rejected| rejected == *text)
        }
        // They suspend the approval: the next text is compared with it, or it is renewed.
        (
            Verdict::ChangesRequested { .. } | Verdict::RevalidationRequired { .. },
            Verdict::Approved { .. },
        ) => false,
        _ => new.aspect() == old.aspect(),
    };
    decisions_in_force(known)
        .into_iter()
        .filter(|old| ends(&old.decision.what))
        .filter_map(|old| old.id.clone())
        .collect()
}

/// Returns the decision that records a changed verdict; `None` if nothing has to be said.
///
/// `by` and `at` are those of a withdrawal; an approval or a rejection names its own author.
#[must_use]
pub fn decide_verdict(
    node: &str,
    known: &[KnownDecision],
    before: &NodeVerdict,
    after: &NodeVerdict,
    by: &Principal,
    at: Timestamp,
) -> Option<Decision> {
    if before == after {
        return None;
    }
    let node = node.to_owned();
    let with_superseded = |decision: Decision| {
        let supersedes = superseded_by(known, &decision.what);
        Decision {
            supersedes,
            ..decision
        }
    };
    // The objection is the news, even where an approval remains beside it.
    if let Some(condemnation) = &after.condemnation
        && after.condemnation != before.condemnation
    {
        let rejected = Decision::from_condemnation(node, condemnation, Vec::new());
        return Some(with_superseded(rejected));
    }
    // An approval ends the objections before it, so their withdrawal needs no file of its own.
    if let Some(approval) = &after.approval {
        let approved = Decision::from_approval(node, approval, Vec::new());
        return Some(with_superseded(approved));
    }
    let is_gone = |what: &Verdict| match what {
        Verdict::Approved { .. } => true,
        Verdict::Rejected { .. }
        | Verdict::ChangesRequested { .. }
        | Verdict::RevalidationRequired { .. } => after.condemnation.is_none(),
        _ => false,
    };
    let supersedes: Vec<DecisionId> = decisions_in_force(known)
        .into_iter()
        .filter(|known| is_gone(&known.decision.what))
        .filter_map(|known| known.id.clone())
        .collect();
    // Without a decision in force there is nothing that a merge could bring back.
    (!supersedes.is_empty()).then(|| Decision {
        node,
        what: Verdict::Withdrawn {
            aspect: Aspect::Verdict,
        },
        by: by.clone(),
        at,
        supersedes,
        signature: None,
        plan_file: None,
    })
}

/// Returns what follows from a node's decisions for its text below its parent's text.
#[must_use]
pub fn stand_on_decisions(
    known: &[KnownDecision],
    text: Option<CanonicalHash>,
    parent: Option<CanonicalHash>,
) -> StandingDecisions {
    let in_force = decisions_in_force(known);
    // Several approvals can be in force after a merge, each for the text of its branch. The one for
    // the present text below the present parent holds. Otherwise the latest, so that a text that is
    // neither shows the newest decision it differs from. The id decides between equals: any two
    // machines choose the same.
    let approval = in_force
        .iter()
        .filter_map(|known| {
            known
                .decision
                .as_approval()
                .map(|approval| (approval, &known.id))
        })
        .max_by_key(|(approval, id)| {
            let of_text = Some(approval.canonical) == text;
            let below_parent = approval.parent.map(|parent| parent.canonical) == parent;
            (
                of_text,
                of_text && below_parent,
                // A person's word goes before a newer one of an agent: under `human` only the
                // former counts.
                approval.by.is_human(),
                approval.at,
                (*id).clone(),
            )
        })
        .map(|(approval, _)| approval);
    let condemnation = in_force
        .iter()
        .filter_map(|known| {
            let condemnation = known.decision.as_condemnation()?;
            Some((condemnation, &known.id))
        })
        .max_by_key(|(condemnation, id)| {
            // Of several objections to one text the strictest holds.
            (
                condemnation.canonical == text,
                condemnation.kind,
                condemnation.at,
                (*id).clone(),
            )
        })
        .map(|(condemnation, _)| condemnation);
    let progress = in_force
        .iter()
        .filter_map(|known| match known.decision.what {
            Verdict::Progress { progress } => Some((known.decision.at, &known.id, progress)),
            _ => None,
        })
        // The clocks of two clones decide only between decisions that do not know each other.
        .max_by_key(|(at, id, _)| (*at, (*id).clone()))
        .map(|(_, _, progress)| progress);
    StandingDecisions {
        verdict: NodeVerdict {
            approval,
            condemnation,
        },
        progress,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::approval::ObjectionKind;
    use crate::decision::render_decision_file;
    use crate::ids::{Digest32, VersionHash};

    const NODE: &str = "story:act-1";

    fn text_hash(text: u8) -> CanonicalHash {
        CanonicalHash(Digest32::of_bytes(&[text]))
    }

    fn approval(text: u8, by: &str, at: i64) -> Approval {
        Approval::from_record(
            VersionHash::of_bytes(&[text]),
            text_hash(text),
            None,
            Principal::Human(by.to_owned()),
            Timestamp::from_millis(at),
            Vec::new(),
        )
    }

    fn condemnation(text: u8, by: &str, at: i64) -> Condemnation {
        Condemnation {
            canonical: Some(text_hash(text)),
            reason: "weak".to_owned(),
            by: Principal::Human(by.to_owned()),
            at: Timestamp::from_millis(at),
            kind: ObjectionKind::Rejected,
        }
    }

    fn to_known(decision: Decision) -> KnownDecision {
        KnownDecision {
            id: Some(render_decision_file(&decision).0),
            decision,
            present: true,
            trusted: true,
            vanished: false,
            signature_problem: None,
            original: None,
        }
    }

    /// One clone: the decisions it has, and the verdict it shows.
    #[derive(Clone, Default)]
    struct CloneState {
        known: Vec<KnownDecision>,
    }

    impl CloneState {
        fn verdict(&self, text: u8) -> NodeVerdict {
            stand_on_decisions(&self.known, Some(text_hash(text)), None).verdict
        }

        fn decide(&mut self, text: u8, after: NodeVerdict, at: i64) {
            let by = Principal::Human("ann".to_owned());
            let at = Timestamp::from_millis(at);
            let before = self.verdict(text);
            let decision = decide_verdict(NODE, &self.known, &before, &after, &by, at);
            self.known.extend(decision.map(to_known));
        }

        fn merge(&mut self, other: &Self) {
            for known in &other.known {
                if !self.known.contains(known) {
                    self.known.push(known.clone());
                }
            }
        }
    }

    fn approved(text: u8, by: &str, at: i64) -> NodeVerdict {
        NodeVerdict {
            approval: Some(approval(text, by, at)),
            condemnation: None,
        }
    }

    fn rejected(text: u8, by: &str, at: i64) -> NodeVerdict {
        NodeVerdict {
            approval: None,
            condemnation: Some(condemnation(text, by, at)),
        }
    }

    #[test]
    fn a_withdrawn_approval_does_not_come_back_by_a_merge() {
        let mut ann = CloneState::default();
        ann.decide(1, approved(1, "ann", 10), 10);
        let bob = ann.clone();
        ann.decide(1, NodeVerdict::default(), 11);
        assert_eq!(ann.verdict(1), NodeVerdict::default());
        ann.merge(&bob);
        assert_eq!(ann.verdict(1), NodeVerdict::default());
    }

    #[test]
    fn of_two_opposite_decisions_both_are_kept_and_named() {
        let (mut ann, mut bob) = (CloneState::default(), CloneState::default());
        ann.decide(1, approved(1, "ann", 10), 10);
        bob.decide(1, rejected(1, "bob", 9), 9);
        ann.merge(&bob);
        let verdict = ann.verdict(1);
        assert_eq!(verdict.approval, Some(approval(1, "ann", 10)));
        assert_eq!(verdict.condemnation, Some(condemnation(1, "bob", 9)));
        ann.decide(1, approved(1, "ann", 12), 12);
        assert_eq!(ann.verdict(1), approved(1, "ann", 12));
    }

    #[test]
    fn a_rejected_text_stays_rejected_when_another_one_is_approved() {
        let mut ann = CloneState::default();
        ann.decide(1, rejected(1, "ann", 10), 10);
        ann.decide(2, approved(2, "ann", 11), 11);
        assert_eq!(ann.verdict(2).approval, Some(approval(2, "ann", 11)));
        assert_eq!(
            ann.verdict(1).condemnation,
            Some(condemnation(1, "ann", 10))
        );
        // Its own approval ends it.
        ann.decide(1, approved(1, "ann", 12), 12);
        assert_eq!(ann.verdict(1), approved(1, "ann", 12));
    }

    fn changes_requested(text: u8, by: &str, at: i64) -> NodeVerdict {
        NodeVerdict {
            approval: None,
            condemnation: Some(Condemnation {
                kind: ObjectionKind::ChangesRequested,
                ..condemnation(text, by, at)
            }),
        }
    }

    #[test]
    fn a_request_for_changes_suspends_the_approval_and_an_approval_ends_the_request() {
        let mut ann = CloneState::default();
        ann.decide(1, approved(1, "ann", 10), 10);
        let suspended = NodeVerdict {
            approval: Some(approval(1, "ann", 10)),
            ..changes_requested(1, "ann", 11)
        };
        ann.decide(1, suspended.clone(), 11);
        assert_eq!(ann.verdict(1), suspended);
        ann.decide(1, approved(1, "ann", 12), 12);
        assert_eq!(ann.verdict(1), approved(1, "ann", 12));
    }

    #[test]
    fn of_two_objections_to_one_text_the_stricter_holds() {
        let (mut ann, mut bob) = (CloneState::default(), CloneState::default());
        ann.decide(1, changes_requested(1, "ann", 99), 99);
        bob.decide(1, rejected(1, "bob", 9), 9);
        ann.merge(&bob);
        assert_eq!(ann.verdict(1).condemnation, Some(condemnation(1, "bob", 9)));
    }

    #[test]
    fn the_approval_of_the_present_text_holds_after_a_merge_of_two() {
        let (mut ann, mut bob) = (CloneState::default(), CloneState::default());
        ann.decide(1, approved(1, "ann", 10), 10);
        bob.decide(2, approved(2, "bob", 99), 99);
        ann.merge(&bob);
        assert_eq!(ann.verdict(1).approval, Some(approval(1, "ann", 10)));
        assert_eq!(ann.verdict(2).approval, Some(approval(2, "bob", 99)));
    }

    #[test]
    fn a_rejection_of_a_new_text_leaves_the_approval_of_the_old_one() {
        let mut ann = CloneState::default();
        ann.decide(1, approved(1, "ann", 10), 10);
        ann.decide(2, rejected(2, "ann", 11), 11);
        assert_eq!(ann.verdict(1).approval, Some(approval(1, "ann", 10)));
        assert_eq!(
            ann.verdict(2).condemnation,
            Some(condemnation(2, "ann", 11))
        );
    }

    proptest! {
        /// Whatever two clones decide and in whichever order they merge, both see the same.
        #[test]
        fn merges_commute(steps in prop::collection::vec((0u8..5, 0u8..3, any::<bool>(), any::<bool>()), 0..24)) {
            let (mut ann, mut bob) = (CloneState::default(), CloneState::default());
            for (at, (what, text, first, merges)) in (1_i64..).zip(steps) {
                let clone = if first { &mut ann } else { &mut bob };
                match what {
                    0 => clone.decide(text, approved(text, "ann", at), at),
                    1 => clone.decide(text, rejected(text, "bob", at), at),
                    2 => clone.decide(text, NodeVerdict::default(), at),
                    3 => clone.decide(text, changes_requested(text, "ann", at), at),
                    _ => {}
                }
                if merges {
                    let other = if first { bob.clone() } else { ann.clone() };
                    let clone = if first { &mut ann } else { &mut bob };
                    clone.merge(&other);
                }
            }
            let (mut left, mut right) = (ann.clone(), bob.clone());
            left.merge(&bob);
            right.merge(&ann);
            left.known.reverse();
            for text in 0..3 {
                prop_assert_eq!(left.verdict(text), right.verdict(text));
            }
        }

        /// What a clone decides is what it shows, whatever was known before.
        #[test]
        fn the_last_decision_of_a_clone_holds(texts in prop::collection::vec((0u8..3, any::<bool>()), 1..12)) {
            let mut ann = CloneState::default();
            for (at, (text, approves)) in (1_i64..).zip(texts) {
                let after = if approves { approved(text, "ann", at) } else { rejected(text, "ann", at) };
                ann.decide(text, after.clone(), at);
                let shown = ann.verdict(text);
                if approves {
                    prop_assert_eq!(shown.approval, after.approval);
                    let objection = shown.condemnation.and_then(|one| one.canonical);
                    prop_assert_ne!(objection, Some(text_hash(text)));
                } else {
                    prop_assert_eq!(shown.condemnation, after.condemnation);
                }
            }
        }
    }
}
