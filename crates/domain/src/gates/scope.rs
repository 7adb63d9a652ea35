//! `scope` gate: blocks edits once the work exceeds its level, until the level is raised or the
//! work is split.

use super::event::WorkStep;
use super::{Gate, GateScope, Objection};
use crate::policy::Policy;
use crate::work::work_level::{LevelLimits, Outgrown, WorkLevel};

pub(super) const GATE: Gate = Gate {
    name: "scope",
    text: "edits after work has outgrown its level; raise the level or split it",
    scope: GateScope::Work,
    never_overridden: None,
    heeded_by: &["tl ticket"],
    mode: |policy| policy.gates.scope,
    check: |event, _| event.check_work(check_scope),
    concerns: |facts, _| facts.find_work_file(),
    limits: Some(describe_limits),
};

fn describe_limits(policy: &Policy) -> String {
    let limits = LevelLimits::from_gates(&policy.gates);
    format!(
        "files: patch {}, task {}, feature without a limit; scenarios: {} (policy.gates.scope_patch_files, scope_task_files, scope_scenarios)",
        limits.patch_files, limits.task_files, limits.scenarios
    )
}

fn check_scope(step: &WorkStep<'_>) -> Option<Objection> {
    let node = step.node;
    let (why, mut next_steps) = match step.outgrown? {
        Outgrown::Files { files, level } => {
            let (next, hint) = match level {
                WorkLevel::Patch => (WorkLevel::Task, ""),
                WorkLevel::Task | WorkLevel::Feature => (
                    WorkLevel::Feature,
                    "   # then define its behaviour: scenarios first",
                ),
            };
            let (level, next) = (level.as_str(), next.as_str());
            (
                format!("`{node}` touches {files} files: that is a {next}, not a {level}"),
                vec![format!("tl ticket level {node} {next}{hint}")],
            )
        }
        Outgrown::Scenarios(scenarios) => (
            format!(
                "`{node}` has {scenarios} scenarios: this work should be split into subtickets"
            ),
            vec![format!(
                "tl ticket split {node} \"First part\" \"Second part\""
            )],
        ),
    };
    // Always offered last: the numbers are a heuristic, and a person or agent with a reason may
    // keep the level.
    let level = match step.outgrown? {
        Outgrown::Files { level, .. } => level.as_str(),
        Outgrown::Scenarios(_) => "feature",
    };
    next_steps.push(format!(
        "tl ticket level {node} {level} --reason \"…\"   # if the level is right"
    ));
    Some(Objection::new(why, next_steps))
}
