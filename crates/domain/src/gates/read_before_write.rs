//! `read-before-write` gate: blocks overwriting a plan or a session file whose current version the
//! session has not read.
//!
//! It is optimistic concurrency control: the version a session last read is compared with the
//! current one.

use super::event::{Event, IntendedChange, Objections, PlanStep, SessionFile, Subject};
use super::{Gate, GateScope, Objection};
use crate::host_event::FileEffect;
use crate::policy::Policy;

pub(super) const GATE: Gate = Gate {
    name: "read-before-write",
    text: "overwriting a plan or session file that changed since this session read it; read it",
    scope: GateScope::Plans,
    never_overridden: None,
    heeded_by: &["read"],
    mode: |policy| policy.gates.read_before_write,
    check: check_read,
    concerns: |facts, _| {
        let overwrites = |plan: &super::CalledPlan<'_>| {
            plan.exists && matches!(plan.effect, FileEffect::Write { .. })
        };
        facts
            .find_changed_plan(overwrites)
            .or_else(|| facts.session_files.first().cloned())
    },
    limits: None,
};

fn check_read<'e>(event: &Event<'e>, _policy: &Policy) -> Objections<'e> {
    let mut found = event.check_plans(check_read_version);
    let unread = event.session_files.iter().filter(|file| !file.is_read);
    found.extend(unread.map(|file| {
        let subject = Subject::of_project(file.node.clone());
        (subject, unread_session_file(file))
    }));
    found
}

fn unread_session_file(SessionFile { file, .. }: &SessionFile) -> Objection {
    Objection::new(
        format!("`{file}` would be overwritten, but this session has not read its current content"),
        vec![
            format!("read {file}"),
            "append to it, or use `tl trail map` and `tl note add --pin`".to_owned(),
        ],
    )
}

fn check_read_version(step: &PlanStep<'_>) -> Option<Objection> {
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
