//! `frozen` gate: blocks changes to a frozen plan document; changes go into a new revision.

use super::{FiredGate, Gate, GateVerdict, Objection};
use crate::policy::Policy;

pub(super) const GATE: Gate = Gate {
    name: "frozen",
    text: "changing a frozen plan document; a new revision",
    mode: |policy| policy.frozen,
    plan: None,
    work: None,
};

/// A file of a frozen plan document that is about to be changed.
#[derive(Clone, Copy, Debug)]
pub struct FrozenFile<'s> {
    pub document: &'s str,
    /// `plan.json`, `plan.md` or `context.json`.
    pub name: &'s str,
}

/// Evaluates the gate for files of plan documents. Unlike the other gates it has no override:
/// all roles work from a frozen plan, so even a person changes it only through a revision.
#[must_use]
pub fn evaluate_frozen(files: &[FrozenFile<'_>], policy: &Policy) -> GateVerdict {
    let mut verdict = GateVerdict::default();
    for file in files {
        let FrozenFile { document, name } = file;
        // `context.json` freezes earlier than the plan, which is written against it; until the plan
        // is frozen too there is nothing to revise yet.
        let next_steps = match *name {
            "context.json" => vec![format!(
                "tl doc revise --doc {document}   # once the plan is frozen, what changed goes into a revision"
            )],
            _ => vec![
                format!("tl doc revise --doc {document}   # a new revision that starts from it"),
                "tl doc set ID FIELD=VALUE --version N   # then change that one".to_owned(),
            ],
        };
        let objection = Objection::new(
            format!(
                "`{name}` of plan document `{document}` is frozen: nothing in it changes any more"
            ),
            next_steps,
        );
        verdict.record_objection(
            policy.gates.frozen,
            FiredGate {
                gate: GATE.name,
                plan: (*document).to_owned(),
                objection,
            },
        );
    }
    verdict
}
