//! `done` gate: a node is complete only when nothing about it is open ([`crate::work::completion`]).
//!
//! Completing a node evaluates it, not a tool call, so no host event concerns it.

use super::event::{Event, Objections, Subject};
use super::{Gate, GateScope, Objection};
use crate::policy::Policy;

pub(super) const GATE: Gate = Gate {
    name: "done",
    text: "completing a node with open scenarios, children, evidence or reviews; close them",
    scope: GateScope::Plans,
    never_overridden: None,
    heeded_by: &["tl evidence", "tl ticket"],
    mode: |policy| policy.gates.done,
    check: check_completion,
    concerns: |_, _| None,
    limits: None,
};

fn check_completion<'e>(event: &Event<'e>, _policy: &Policy) -> Objections<'e> {
    let object = |node: super::UnprovedNode<'e>| {
        let path = node.path;
        let mut next_steps = node.steps.to_vec();
        next_steps.push(format!(
            "tl gate override done {path} --reason \"…\"   # a person lets it pass once"
        ));
        let subject = Subject {
            name: path.to_owned(),
            profile: node.profile,
        };
        (subject, Objection::new(node.why.to_owned(), next_steps))
    };
    event.unproved.map(object).into_iter().collect()
}
