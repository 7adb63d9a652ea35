//! Decisions that followed their plans to other places, after a change of shape.
//!
//! A decision names its node by path and is never rewritten. When plans move, one more decision about
//! the project says which decisions belong to which nodes now, and which hashes an approval has where
//! only references in the texts changed. Of several that speak of one decision the latest counts, so
//! any two histories merge by union.

use std::collections::BTreeMap;

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

/// Returns where decisions belong, by the decisions about moves that count.
#[must_use]
pub fn carried_decisions<'k>(
    known: impl Iterator<Item = &'k KnownDecision>,
) -> BTreeMap<DecisionId, CarriedTo> {
    let mut moves: Vec<&KnownDecision> = known
        .filter(|one| one.counts() && matches!(one.decision.what, Verdict::Carried { .. }))
        .collect();
    // By time, then id: every clone has to end with the same places, in whatever order files
    // arrived.
    moves.sort_by(|a, b| (a.decision.at, &a.id).cmp(&(b.decision.at, &b.id)));
    let mut found = BTreeMap::new();
    for one in moves {
        if let Verdict::Carried { decisions } = &one.decision.what {
            // The later entry replaces the earlier: it names where the plan is after both moves.
            found.extend(decisions.iter().map(|(id, to)| (id.clone(), to.clone())));
        }
    }
    found
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
            let found = carried_decisions(order.into_iter());
            let moved = found[&id].apply_to(&original);
            assert_eq!(moved.node, "story:act-2/chapter-01");
            assert_eq!(moved.what, original.what);
        }
        assert_eq!(CarriedTo::from_decisions(&original, &original), None);
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
