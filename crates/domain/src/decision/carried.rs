//! Decisions that followed their plans to other places, after a change of shape.
//!
//! A decision names its node by path and is never rewritten. When plans move, one more decision about
//! the project says which decisions belong to which nodes now, and which hashes an approval has where
//! only references in the texts changed. Of several that speak of one decision the latest counts, so
//! any two histories merge by union.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Decision, DecisionId, KnownDecision, Verdict};
use crate::ids::{CanonicalHash, Digest32, VersionHash};
use crate::node::ParentVersion;

/// Where a decision belongs after a change of shape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CarriedTo {
    /// The node, as [`crate::ports::NodeKey`] renders it.
    pub node: String,
    /// The plan's file there, where several plans can have one id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_file: Option<String>,
    /// The texts an approval, an objection or a comment is for, with the references as they are now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub texts: Option<CarriedTexts>,
}

/// The texts of a decision whose references were rewritten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CarriedTexts {
    pub text: CanonicalHash,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<VersionHash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentVersion>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relied_sections: Option<Digest32>,
}

impl CarriedTexts {
    fn of_text(text: CanonicalHash) -> Self {
        Self {
            text,
            version: None,
            parent: None,
            relied_sections: None,
        }
    }
}

impl CarriedTo {
    /// Returns where a decision belongs that is `carried` now and `original` in its file; `None` if
    /// that is what the file says.
    #[must_use]
    pub fn from_decisions(original: &Decision, carried: &Decision) -> Option<Self> {
        let place = |one: &Decision| (one.node.clone(), one.plan_file.clone());
        let is_same = place(original) == place(carried) && original.what == carried.what;
        let texts = match &carried.what {
            Verdict::Approved {
                text,
                version,
                parent,
                relied_sections,
                ..
            } => Some(CarriedTexts {
                text: *text,
                version: Some(*version),
                parent: *parent,
                relied_sections: *relied_sections,
            }),
            Verdict::Rejected { text, .. }
            | Verdict::ChangesRequested { text, .. }
            | Verdict::RevalidationRequired { text, .. } => text.map(CarriedTexts::of_text),
            Verdict::Commented { place, .. } => place.plan.map(CarriedTexts::of_text),
            _ => None,
        };
        (!is_same).then(|| Self {
            node: carried.node.clone(),
            plan_file: carried.plan_file.clone(),
            // Hashes only where references were rewritten: elsewhere the file's own still hold.
            texts: texts.filter(|_| original.what != carried.what),
        })
    }

    /// Returns the decision as it counts now.
    #[must_use]
    pub fn apply_to(&self, original: &Decision) -> Decision {
        let mut decision = original.clone();
        decision.node.clone_from(&self.node);
        decision.plan_file.clone_from(&self.plan_file);
        let Some(texts) = &self.texts else {
            return decision;
        };
        match &mut decision.what {
            Verdict::Approved {
                text,
                version,
                parent,
                relied_sections,
                ..
            } => {
                *text = texts.text;
                *version = texts.version.unwrap_or(*version);
                *parent = texts.parent;
                *relied_sections = texts.relied_sections;
            }
            Verdict::Rejected { text, .. }
            | Verdict::ChangesRequested { text, .. }
            | Verdict::RevalidationRequired { text, .. } => *text = Some(texts.text),
            Verdict::Commented { place, .. } => place.plan = Some(texts.text),
            _ => {}
        }
        decision
    }
}

/// Where decisions belong, by the decisions about moves that count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CarriedDecisions {
    current: BTreeMap<DecisionId, CarriedTo>,
    /// The nodes that decisions belonged to before.
    former: BTreeMap<DecisionId, BTreeSet<String>>,
}

impl CarriedDecisions {
    /// Returns where each of the decisions belongs that are not where their files say.
    #[must_use]
    pub fn from_known<'k>(known: impl Iterator<Item = &'k KnownDecision> + Clone) -> Self {
        let is_move = |one: &&KnownDecision| {
            one.counts() && matches!(one.decision.what, Verdict::Carried { .. })
        };
        let mut moves: Vec<&KnownDecision> = known.clone().filter(is_move).collect();
        // By time, then id: every clone has to end with the same places, in whatever order files
        // arrived.
        moves.sort_by(|a, b| (a.decision.at, &a.id).cmp(&(b.decision.at, &b.id)));
        let mut found = Self::default();
        for one in moves {
            if let Verdict::Carried { decisions } = &one.decision.what {
                for (id, to) in decisions {
                    // The later entry replaces the earlier: it names where the plan is after both moves.
                    if let Some(earlier) = found.current.insert(id.clone(), to.clone()) {
                        let former = found.former.entry(id.clone()).or_default();
                        former.insert(earlier.node);
                    }
                }
            }
        }
        if !found.current.is_empty() {
            found.add_successors(known);
        }
        found
    }

    /// Adds the decisions that were made on another branch, which did not know of a move: they follow what
    /// they supersede.
    fn add_successors<'k>(&mut self, known: impl Iterator<Item = &'k KnownDecision>) {
        let in_files: BTreeMap<&DecisionId, &Decision> = known
            .filter_map(|one| Some((one.id.as_ref()?, one.as_in_file())))
            .collect();
        for id in self.current.keys() {
            let places = self.former.entry(id.clone()).or_default();
            places.extend(in_files.get(id).map(|original| original.node.clone()));
        }
        // In the order of time, so that one that supersedes a successor follows too.
        let mut successors: Vec<_> = in_files
            .iter()
            .filter(|(id, one)| !one.supersedes.is_empty() && !self.current.contains_key(**id))
            .collect();
        successors.sort_by_key(|(id, one)| (one.at, **id));
        for (id, one) in successors {
            let followed = one.supersedes.iter().find_map(|older| {
                let to = self.current.get(older)?;
                let is_left = to.node != one.node && self.former.get(older)?.contains(&one.node);
                is_left.then(|| (older.clone(), to.clone()))
            });
            let Some((older, to)) = followed else {
                continue;
            };
            let is_same_text = in_files
                .get(&older)
                .is_some_and(|older| has_same_texts(older, one));
            let to = CarriedTo {
                texts: to.texts.filter(|_| is_same_text),
                ..to
            };
            let former = self.former.get(&older).cloned().unwrap_or_default();
            self.former.insert((*id).clone(), former);
            self.current.insert((*id).clone(), to);
        }
    }

    /// Returns where a decision belongs; `None` if that is where its file says.
    #[must_use]
    pub fn get(&self, id: &DecisionId) -> Option<&CarriedTo> {
        self.current.get(id)
    }

    /// Returns the node to which everything that was decided about a node went; `None` if nothing did, or to
    /// several.
    #[must_use]
    pub fn place_after(&self, node: &str) -> Option<&str> {
        let left = self
            .former
            .iter()
            .filter(|(_, places)| places.contains(node));
        let mut now: Vec<&str> = left
            .filter_map(|(id, _)| Some(self.current.get(id)?.node.as_str()))
            .filter(|now| *now != node)
            .collect();
        now.sort_unstable();
        now.dedup();
        match now.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }
}

/// Whether two decisions are about the same text, and approvals below the same text of the parent.
fn has_same_texts(one: &Decision, other: &Decision) -> bool {
    let text = |decision: &Decision| match &decision.what {
        Verdict::Approved { text, .. } => Some(*text),
        Verdict::Rejected { text, .. }
        | Verdict::ChangesRequested { text, .. }
        | Verdict::RevalidationRequired { text, .. } => *text,
        Verdict::Commented { place, .. } => place.plan,
        _ => None,
    };
    let parent = |decision: &Decision| match &decision.what {
        Verdict::Approved { parent, .. } => Some(parent.map(|parent| parent.canonical)),
        _ => None,
    };
    let is_approved = |decision| parent(decision).is_some();
    text(one) == text(other) && (!is_approved(other) || parent(one) == parent(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comment::CommentPlace;
    use crate::decision::render_decision_file;
    use crate::ids::Principal;
    use crate::node::Progress;
    use crate::time::Timestamp;

    fn known(decision: Decision) -> KnownDecision {
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

    fn decision(node: &str, what: Verdict, at: i64) -> Decision {
        Decision {
            node: node.to_owned(),
            what,
            by: Principal::Human("ann".to_owned()),
            at: Timestamp::from_millis(at),
            supersedes: Vec::new(),
            signature: None,
            plan_file: None,
        }
    }

    #[test]
    fn of_two_moves_the_later_counts_in_any_order() {
        let done = Verdict::Progress {
            progress: Progress::Complete,
        };
        let original = decision("story:act-1/chapter-04", done, 1);
        let id = known(original.clone()).id.unwrap();
        let carry = |node: &str, at| {
            let to = CarriedTo {
                node: node.to_owned(),
                plan_file: None,
                texts: None,
            };
            let decisions = BTreeMap::from([(id.clone(), to)]);
            known(decision(":project", Verdict::Carried { decisions }, at))
        };
        let (first, second) = (
            carry("story:act-1/chapter-05", 2),
            carry("story:act-2/chapter-01", 3),
        );
        for order in [[&first, &second], [&second, &first]] {
            let found = CarriedDecisions::from_known(order.into_iter());
            let moved = found.get(&id).unwrap().apply_to(&original);
            assert_eq!(moved.node, "story:act-2/chapter-01");
            assert_eq!(moved.what, original.what);
        }
        assert_eq!(CarriedTo::from_decisions(&original, &original), None);
    }

    #[test]
    fn what_supersedes_a_carried_decision_follows_it() {
        let text = |words: &[u8]| CanonicalHash(Digest32::of_bytes(words));
        let rejected = |words: &[u8], reason: &str| Verdict::Rejected {
            text: Some(text(words)),
            reason: reason.to_owned(),
        };
        let first = known(decision("story:act-1/chapter-02", rejected(b"two", "a"), 1));
        let id = first.id.clone().unwrap();
        let to = CarriedTo {
            node: "story:act-1/chapter-05".to_owned(),
            plan_file: None,
            texts: Some(CarriedTexts::of_text(text(b"five"))),
        };
        let decisions = BTreeMap::from([(id.clone(), to)]);
        let carried = known(decision(":project", Verdict::Carried { decisions }, 2));
        // On another branch, where the plan is at its former place still.
        let after = |node: &str, words: &[u8], older: &KnownDecision, at: i64| {
            let mut made = decision(node, rejected(words, "b"), at);
            made.supersedes = vec![older.id.clone().unwrap()];
            known(made)
        };
        let second = after("story:act-1/chapter-02", b"two", &first, 3);
        let third = after("story:act-1/chapter-02", b"other", &second, 4);
        // Made where the plan is now: it says so itself.
        let fourth = after("story:act-1/chapter-05", b"five", &first, 5);
        let all = [&first, &carried, &second, &third, &fourth];
        let moves = CarriedDecisions::from_known(all.into_iter());
        let place = |one: &KnownDecision| moves.get(one.id.as_ref().unwrap());
        assert_eq!(place(&second), place(&first));
        let third = place(&third).unwrap();
        assert_eq!(
            (third.node.as_str(), &third.texts),
            ("story:act-1/chapter-05", &None)
        );
        assert_eq!(place(&fourth), None);
        assert_eq!(
            moves.place_after("story:act-1/chapter-02"),
            Some("story:act-1/chapter-05")
        );
        assert_eq!(moves.place_after("story:act-1/chapter-05"), None);
    }

    #[test]
    fn every_objection_is_carried_to_the_rewritten_text() {
        let hash = |text: &[u8]| Some(CanonicalHash(Digest32::of_bytes(text)));
        let reason = || "slow".to_owned();
        let objections = |text: Option<CanonicalHash>| {
            [
                Verdict::Rejected {
                    text,
                    reason: reason(),
                },
                Verdict::ChangesRequested {
                    text,
                    reason: reason(),
                },
                Verdict::RevalidationRequired {
                    text,
                    reason: reason(),
                },
            ]
        };
        let pairs = objections(hash(b"# Two"))
            .into_iter()
            .zip(objections(hash(b"# Three")));
        for (was, now) in pairs {
            let original = decision("story:act-1/chapter-02", was, 1);
            let carried = decision("story:act-1/chapter-03", now, 1);
            let to = CarriedTo::from_decisions(&original, &carried).unwrap();
            assert_eq!(to.apply_to(&original), carried);
        }
    }

    #[test]
    fn a_comment_is_carried_to_the_rewritten_text_and_to_the_file_of_its_plan() {
        let hash = |text: &[u8]| CanonicalHash(Digest32::of_bytes(text));
        let comment = |node: &str, file: &str, text: &[u8]| {
            let place = CommentPlace {
                plan: Some(hash(text)),
                ..CommentPlace::default()
            };
            let said = Verdict::Commented {
                text: "why?".to_owned(),
                place,
            };
            Decision {
                plan_file: Some(file.to_owned()),
                ..decision(node, said, 1)
            }
        };
        let original = comment("tickets:002", "tickets/002-b/ticket.md", b"see 002");
        let carried = comment("tickets:003", "tickets/003-b/ticket.md", b"see 003");
        let to = CarriedTo::from_decisions(&original, &carried).unwrap();
        assert_eq!(to.apply_to(&original), carried);
        assert_eq!(CarriedTo::from_decisions(&original, &original), None);
    }
}
