//! Work that has outgrown its level is raised to another one, or split, before it goes on.

use super::{Gate, Objection, WorkStep};
use crate::policy::Policy;
use crate::work::work_level::Outgrown;

pub(super) const GATE: Gate = Gate {
    name: "scope",
    text: "edits after work has outgrown its level; raise the level or split it",
    mode: |policy| policy.scope,
    plan: None,
    work: Some(check),
};

fn check(step: &WorkStep<'_>, _policy: &Policy) -> Option<Objection> {
    let node = step.node;
    let (why, mut next_steps) = match step.outgrown? {
        Outgrown::Files(files) => (
            format!("`{node}` touches {files} files: that is a feature, not a task"),
            vec![format!(
                "tl ticket level {node} feature   # then define its behaviour: scenarios first"
            )],
        ),
        Outgrown::Scenarios(scenarios) => (
            format!(
                "`{node}` has {scenarios} scenarios: this work should be split into subtickets"
            ),
            vec![format!(
                "tl ticket split {node} \"First part\" \"Second part\""
            )],
        ),
    };
    next_steps.push(format!(
        "tl ticket level {node} LEVEL --reason \"…\"   # when it is right as it is"
    ));
    Some(Objection::new(why, next_steps))
}
