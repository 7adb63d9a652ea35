//! A node counts as complete when what proves it holds. Asked by whoever completes a node, not before a tool runs.

use super::Gate;

pub(super) const GATE: Gate = Gate {
    name: "done",
    text: "completing a node without fresh evidence; tl evidence run",
    mode: |policy| policy.done,
    plan: None,
    work: None,
};
