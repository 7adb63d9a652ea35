//! `phase` gate: blocks edits after a ticket's phase changed, until the phase's guide was given and
//! the earlier work is committed.

use super::event::WorkStep;
use super::{Gate, GateScope, Objection};

pub(super) const GATE: Gate = Gate {
    name: "phase",
    text: "edits after a phase began, until its guide was given and the work committed; commit",
    scope: GateScope::Work,
    never_overridden: None,
    heeded_by: &["commit"],
    mode: |policy| policy.gates.phase,
    check: |event, _| event.check_work(check_phase),
    concerns: |facts, _| facts.find_work_file(),
    limits: None,
};

fn check_phase(step: &WorkStep<'_>) -> Option<Objection> {
    let phase = step.new_phase?;
    let from = phase
        .from
        .map(|from| format!(" (it was in {from})"))
        .unwrap_or_default();
    // Without a repository, or with nothing to commit, a demand for a commit could never be met.
    let next = match phase.needs_commit {
        true => "git add -A && git commit -m \"…\"   # to proceed",
        false => "read the guide below, then go on",
    };
    Some(Objection {
        why: format!("`{}` is entering the {} phase{from}", step.node, phase.to),
        next_steps: vec![next.to_owned()],
        carries: Some(phase.guide.to_owned()),
        is_handover: !phase.needs_commit,
    })
}
