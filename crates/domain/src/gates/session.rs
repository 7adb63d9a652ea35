//! `session` gate: blocks changes of plans in a session whose start no hook reported. Off by
//! default.

use super::{Doing, Gate, Objection, Step};
use crate::host_event::Effect;
use crate::policy::Policy;

pub(super) const GATE: Gate = Gate {
    name: "session",
    text: "changing plans in a session whose start no hook reported; start a new session",
    mode: |policy| policy.session,
    plan: Some(check),
    work: None,
};

fn check(step: &Step<'_>, _policy: &Policy) -> Option<Objection> {
    // Reading changes nothing, so it never needs a known session.
    if step.session_is_known || matches!(step.doing, Doing::Changing(Effect::Read)) {
        return None;
    }
    let plan = step.place.path_alias();
    Some(Objection::new(
        format!(
            "`{plan}` cannot be planned: no hook reported the start of this session, and policy requires it"
        ),
        vec![
            "start a new session in this project".to_owned(),
            "tl doctor   # checks that the hooks are installed".to_owned(),
        ],
    ))
}
