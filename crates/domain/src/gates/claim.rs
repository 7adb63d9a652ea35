//! `claim` gate: blocks writes to a node that another session has claimed.

use super::{Doing, Gate, Objection, Step, WorkStep};
use crate::host_event::Effect;
use crate::policy::Policy;

pub(super) const GATE: Gate = Gate {
    name: "claim",
    text: "writing a node another session has claimed; its release, or its end",
    mode: |policy| policy.claim,
    plan: Some(check_plan),
    work: Some(check_work),
};

fn check_plan(step: &Step<'_>, _policy: &Policy) -> Option<Objection> {
    // Only writes conflict; a claim does not hide a plan.
    if matches!(step.doing, Doing::Changing(Effect::Read)) {
        return None;
    }
    Some(held(&step.place.path_alias(), step.claimed_by?))
}

fn check_work(step: &WorkStep<'_>, _policy: &Policy) -> Option<Objection> {
    Some(held(step.node, step.claimed_by?))
}

/// Returns the objection; `holder` is the session that has the claim.
fn held(node: &str, holder: &str) -> Objection {
    Objection::new(
        format!("`{node}` is claimed by another session ({holder})"),
        vec![
            "tl next   # work that is not claimed".to_owned(),
            format!("tl claim {node}   # once it is released or expired"),
        ],
    )
}
