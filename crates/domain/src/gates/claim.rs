//! `claim` gate: blocks writes to a node that another session has claimed.

use super::event::{Event, IntendedChange, Objections, PlanStep};
use super::{Gate, GateScope, Objection};
use crate::host_event::FileEffect;
use crate::policy::Policy;

pub(super) const GATE: Gate = Gate {
    name: "claim",
    text: "writing a node another session has claimed; its release, or its end",
    scope: GateScope::Plans,
    never_overridden: None,
    heeded_by: &["tl next", "tl release", "tl focus", "tl claim"],
    mode: |policy| policy.gates.claim,
    check: check_claim,
    concerns: |facts, _| {
        facts
            .find_changed_plan(|_| true)
            .or_else(|| facts.find_work_file())
    },
    limits: None,
};

fn check_claim<'e>(event: &Event<'e>, _policy: &Policy) -> Objections<'e> {
    let mut found = event.check_plans(check_plan);
    found.extend(event.check_work(|step| Some(claimed_objection(step.node, step.claimed_by?))));
    found
}

fn check_plan(step: &PlanStep<'_>) -> Option<Objection> {
    // Only writes conflict; a claim does not hide a plan.
    if matches!(step.doing, IntendedChange::Changing(FileEffect::Read)) {
        return None;
    }
    Some(claimed_objection(
        &step.place.path_alias(),
        step.claimed_by?,
    ))
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
