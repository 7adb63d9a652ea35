//! `session` gate: blocks changes of plans in a session whose start no hook reported. Off by
//! default.

use super::{Gate, IntendedChange, Objection, PlanStep};
use crate::host_event::FileEffect;
use crate::policy::Policy;

pub(super) const GATE: Gate = Gate {
    name: "session",
    text: "changing plans in a session whose start no hook reported; start a new session",
    mode: |policy| policy.session,
    plan: Some(check_session),
    work: None,
};

fn check_session(step: &PlanStep<'_>, _policy: &Policy) -> Option<Objection> {
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
