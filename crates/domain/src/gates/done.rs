//! `done` gate: a node is complete only with fresh evidence.
//!
//! It has no check here: completing a node evaluates it, not a tool call, so no host event does.

use super::Gate;

pub(super) const GATE: Gate = Gate {
    name: "done",
    text: "completing a node without fresh evidence; tl evidence run",
    mode: |policy| policy.done,
    plan: None,
    work: None,
};
