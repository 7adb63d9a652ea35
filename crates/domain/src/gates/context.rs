//! `context` gate: blocks the first edit after a session entered a ticket, and delivers the
//! ticket's context in the block itself.

use super::event::WorkStep;
use super::{Gate, GateScope, Objection};

pub(super) const GATE: Gate = Gate {
    name: "context",
    text: "the first edit after entering a ticket, until its context was given; the block gives it",
    scope: GateScope::Work,
    never_overridden: None,
    mode: |policy| policy.gates.context,
    check: |event, _| event.check_work(check_context),
    concerns: |facts, _| facts.find_work_file(),
};

fn check_context(step: &WorkStep<'_>) -> Option<Objection> {
    // The caller records the context as given in any case, so the same edit passes when repeated.
    let context = step.context?;
    Some(Objection {
        why: format!(
            "`{}` was entered and its context not given yet: here it is",
            step.node
        ),
        next_steps: vec!["read it, then make the same change again".to_owned()],
        carries: Some(context.to_owned()),
    })
}
