//! With the policy on, plans are changed only in a session that was seen to start.

use super::{Doing, Gate, Objection, Step};
use crate::host_event::Effect;
use crate::policy::Policy;

pub(super) const GATE: Gate = Gate { name: "session", mode: |policy| policy.session, check };

fn check(step: &Step<'_>, _policy: &Policy) -> Option<Objection> {
    if step.session_is_known || matches!(step.doing, Doing::Changing(Effect::Read)) {
        return None;
    }
    let plan = step.place.path_alias();
    Some(Objection {
        why: format!("`{plan}` cannot be planned: this session was not seen to start, and policy asks for one"),
        next_steps: vec![
            "start a new session in this project".to_owned(),
            "tl doctor   # are the hooks in place?".to_owned(),
        ],
    })
}
