//! `session` gate: blocks changes of plans in a session whose start no hook reported. Off by
//! default.

use super::event::{IntendedChange, PlanStep};
use super::{Gate, GateScope, Objection};
use crate::host_event::FileEffect;

pub(super) const GATE: Gate = Gate {
    name: "session",
    text: "changing plans in a session whose start no hook reported; start a new session",
    scope: GateScope::Plans,
    never_overridden: None,
    heeded_by: &[],
    mode: |policy| policy.gates.session,
    check: |event, _| event.check_plans(check_session),
    concerns: |facts, _| facts.find_changed_plan(|_| true),
    limits: None,
};

fn check_session(step: &PlanStep<'_>) -> Option<Objection> {
    // Reading changes nothing, so it never needs a known session.
    if step.session_is_known || matches!(step.doing, IntendedChange::Changing(FileEffect::Read)) {
        return None;
    }
    let plan = step.place.path_alias();
    Some(Objection::new(
        format!(
            "`{plan}` cannot be planned: no hook reported the start of this session, and policy requires it"
        ),
        vec![
            "start a new session in this project".to_owned(),
            "tl host doctor   # checks that the hooks are installed".to_owned(),
        ],
    ))
}
