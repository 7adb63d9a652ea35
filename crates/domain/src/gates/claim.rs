//! `claim` gate: blocks writes to a node that another session has claimed.

use super::{Gate, IntendedChange, Objection, PlanStep, WorkStep};
use crate::host_event::FileEffect;
use crate::policy::Policy;

pub(super) const GATE: Gate = Gate {
    name: "claim",
    text: "writing a node another session has claimed; its release, or its end",
    mode: |policy| policy.claim,
    plan: Some(check_plan),
    work: Some(check_work),
};

fn check_plan(step: &PlanStep<'_>, _policy: &Policy) -> Option<Objection> {
    // Only writes conflict; a claim does not hide a plan.
    if matches!(step.doing, IntendedChange::Changing(FileEffect::Read)) {
        return None;
    }
    Some(claimed_objection(
        &step.place.path_alias(),
        step.claimed_by?,
    ))
}

fn check_work(step: &WorkStep<'_>, _policy: &Policy) -> Option<Objection> {
    Some(claimed_objection(step.node, step.claimed_by?))
}

/// Returns the objection; `holder` is the session that has the claim.
fn claimed_objection(node: &str, holder: &str) -> Objection {
    Objection::new(
        format!("`{node}` is claimed by another session ({holder})"),
        vec![
            "tl next   # work that is not claimed".to_owned(),
            format!("tl claim {node}   # once it is released or expired"),
        ],
    )
}
