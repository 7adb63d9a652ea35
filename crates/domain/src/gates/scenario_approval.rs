//! `scenario-approval` gate: a ticket leaves its scenario gate only with approved scenarios.
//!
//! Off by default. Whose approval counts is `policy.approval`.

use super::event::{Event, Objections, Subject};
use super::{Gate, GateScope, Objection};
use crate::policy::Policy;

pub(super) const GATE: Gate = Gate {
    name: "scenario-approval",
    text: "leaving the scenario gate before the ticket and its scenarios are approved; tl approve NODE",
    scope: GateScope::Work,
    never_overridden: None,
    heeded_by: &[],
    mode: |policy| policy.gates.scenario_approval,
    check: check_approval,
    concerns: |_, _| None,
    limits: None,
};

/// Maximum number of nodes that a message names.
const MAX_NAMED_NODES: usize = 5;

fn check_approval<'e>(event: &Event<'e>, _policy: &Policy) -> Objections<'e> {
    let Some(step) = event.phase_move else {
        return Vec::new();
    };
    let (Some(left), [_, ..]) = (step.left_approval, step.unapproved) else {
        return Vec::new();
    };
    let named: Vec<String> = step
        .unapproved
        .iter()
        .take(MAX_NAMED_NODES)
        .map(|path| format!("`{path}`"))
        .collect();
    let surplus = step.unapproved.len().saturating_sub(MAX_NAMED_NODES);
    let more = match surplus {
        0 => String::new(),
        surplus => format!(" and {surplus} more"),
    };
    let why = format!(
        "`{}` leaves {left} with approved scenarios only; not approved: {}{more}",
        step.path,
        named.join(", ")
    );
    let next_steps = step
        .unapproved
        .iter()
        .take(MAX_NAMED_NODES)
        .map(|path| format!("tl approve {path}"))
        .collect();
    let subject = Subject {
        name: step.path.to_owned(),
        profile: step.profile,
    };
    vec![(subject, Objection::new(why, next_steps))]
}
