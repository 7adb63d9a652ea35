//! `read-before-write` gate: blocks overwriting a plan whose current version the session has not
//! read.
//!
//! It is optimistic concurrency control: the version a session last read is compared with the
//! current one.

use super::{Doing, Gate, Objection, Step};
use crate::host_event::Effect;
use crate::policy::Policy;

pub(super) const GATE: Gate = Gate {
    name: "read-before-write",
    text: "overwriting a plan that changed since this session read it; read it",
    mode: |policy| policy.read_before_write,
    plan: Some(check),
    work: None,
};

fn check(step: &Step<'_>, _policy: &Policy) -> Option<Objection> {
    // An edit quotes what it replaces, so it fails by itself on a changed text; only writing the
    // whole file can lose changes the session has not seen.
    let Doing::Changing(Effect::Write { .. }) = step.doing else {
        return None;
    };
    // A new plan has no text to lose.
    let now = step.node?.content.version()?;
    let plan = step.place.path_alias();
    let why = match step.read {
        Some(read) if read == now => return None,
        Some(_) => {
            format!("`{plan}` was not overwritten: it changed since this session last read it")
        }
        None => format!("`{plan}` was not overwritten: this session has not read it"),
    };
    Some(Objection::new(
        why,
        vec![format!("read {}, then write it again", step.file)],
    ))
}
