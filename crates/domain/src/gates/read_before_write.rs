//! `read-before-write` gate: blocks overwriting a plan whose current version the session has not
//! read.
//!
//! It is optimistic concurrency control: the version a session last read is compared with the
//! current one.

use super::{Gate, IntendedChange, Objection, PlanStep};
use crate::host_event::FileEffect;
use crate::policy::Policy;

pub(super) const GATE: Gate = Gate {
    name: "read-before-write",
    text: "overwriting a plan that changed since this session read it; read it",
    mode: |policy| policy.read_before_write,
    plan: Some(check_read_version),
    work: None,
};

fn check_read_version(step: &PlanStep<'_>, _policy: &Policy) -> Option<Objection> {
    // An edit quotes what it replaces, so it fails by itself on a changed text; only writing the
    // whole file can lose changes the session has not seen.
    let IntendedChange::Changing(FileEffect::Write { .. }) = step.doing else {
        return None;
    };
    // A new plan has no text to lose.
    let now = step.node?.content.version_hash()?;
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
