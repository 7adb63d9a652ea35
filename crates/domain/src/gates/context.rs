//! `context` gate: gives the ticket's context with the first edit after a session entered a ticket.
//!
//! Where the host does not pass context on before a tool, the edit is blocked once, with the context
//! in the block.

use super::event::WorkStep;
use super::{Gate, GateScope, Objection};

pub(super) const GATE: Gate = Gate {
    name: "context",
    text: "the first edit in a ticket without its context, where the host cannot add it; make it again",
    scope: GateScope::Work,
    never_overridden: None,
    heeded_by: &[],
    mode: |policy| policy.gates.context,
    check: |event, _| event.check_work(check_context),
    concerns: |facts, _| facts.find_work_file(),
    limits: None,
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
        is_handover: true,
    })
}
