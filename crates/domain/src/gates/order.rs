//! `order` gate: a ticket goes through the phases of its work level in order; a person may skip one
//! with a reason.
//!
//! Moving a ticket evaluates it, not a tool call, so no host event concerns it. A phase that was
//! written into the file by hand stands, and the agent is warned.

use super::event::{Event, Objections, Subject};
use super::{Gate, GateScope, Objection};
use crate::policy::Policy;
use crate::work::work_level::WorkLevel;

pub(super) const GATE: Gate = Gate {
    name: "order",
    text: "moving a ticket past a phase of its work level; a person gives a reason",
    scope: GateScope::Work,
    never_overridden: None,
    heeded_by: &["tl ticket"],
    mode: |policy| policy.gates.order,
    check: check_order,
    concerns: |_, _| None,
    limits: None,
};

fn check_order<'e>(event: &Event<'e>, _policy: &Policy) -> Objections<'e> {
    let Some(step) = event.phase_move else {
        return Vec::new();
    };
    let [first, ..] = step.skipped else {
        return Vec::new();
    };
    let (path, to) = (step.path, step.to);
    let why = format!(
        "`{path}` is a {}: {} {} before {to}",
        step.level,
        step.skipped.join(", "),
        if step.skipped.len() == 1 {
            "comes"
        } else {
            "come"
        }
    );
    let mut next_steps = vec![format!("tl ticket phase {path} {first}")];
    let mut phases = step
        .profile
        .into_iter()
        .flat_map(|profile| &profile.work_phases);
    if phases.any(|phase| {
        phase.from_level > WorkLevel::Patch && step.skipped.contains(&phase.name.as_str())
    }) {
        next_steps.push(format!(
            "tl ticket level {path} patch --reason \"…\"   # if the work is smaller than that"
        ));
    }
    next_steps.push(format!(
        "tl ticket phase {path} {to} --reason \"…\"   # a person skips it"
    ));
    let subject = Subject {
        name: path.to_owned(),
        profile: step.profile,
    };
    vec![(subject, Objection::new(why, next_steps))]
}
