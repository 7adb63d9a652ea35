//! `loc` gate: blocks edits once more than `loc_limit` changed lines are uncommitted, because large
//! diffs do not get reviewed. Smaller work has a part of the limit.

use super::event::WorkStep;
use super::{Gate, GateScope, Objection};
use crate::policy::Policy;
use crate::work::work_level::{LevelLimits, WorkLevel};

pub(super) const GATE: Gate = Gate {
    name: "loc",
    text: "more edits after too many changed lines without a commit; commit",
    scope: GateScope::Work,
    never_overridden: None,
    heeded_by: &["commit"],
    mode: |policy| policy.gates.loc,
    check: |event, policy| event.check_work(|step| check_uncommitted_lines(step, policy)),
    concerns: |facts, _| facts.find_work_file(),
    limits: Some(describe_limits),
};

fn check_uncommitted_lines(step: &WorkStep<'_>, policy: &Policy) -> Option<Objection> {
    // `None` means the lines could not be counted: no repository, or a merge is in progress, in
    // which a commit is not the agent's to make. The gate passes then.
    let lines = step.uncommitted?;
    let most = max_uncommitted_lines(step.level, policy);
    if lines <= most {
        return None;
    }
    let mut limit = format!("the limit is {most}");
    let mut next_steps = vec![
        "git add -A && git commit -m \"…\"   # what works; the message says what it is".to_owned(),
        "git status --short   # what is not committed".to_owned(),
    ];
    if let Some(level) = step.level
        && let Some(larger) = find_larger_level(level, policy)
    {
        limit.push_str(&format!(" for a {}", level.as_str()));
        next_steps.push(format!(
            "tl ticket level {} {}   # if it is more than a {}: {} lines",
            step.node,
            larger.as_str(),
            level.as_str(),
            max_uncommitted_lines(Some(larger), policy)
        ));
    }
    Some(Objection::new(
        format!("{lines} changed lines are not committed; {limit}"),
        next_steps,
    ))
}

/// Returns the maximum number of uncommitted changed lines for work of this level.
#[must_use]
pub fn max_uncommitted_lines(level: Option<WorkLevel>, policy: &Policy) -> u64 {
    let limit = policy.gates.loc_limit;
    let limits = LevelLimits::from_gates(&policy.gates);
    level.map_or(limit, |level| limits.max_uncommitted_lines(level, limit))
}

/// Returns the next larger level that may have more lines.
fn find_larger_level(level: WorkLevel, policy: &Policy) -> Option<WorkLevel> {
    let most = |level| max_uncommitted_lines(Some(level), policy);
    WorkLevel::ALL
        .into_iter()
        .find(|larger| *larger > level && most(*larger) > most(level))
}

fn describe_limits(policy: &Policy) -> String {
    let [patch, task, feature] =
        WorkLevel::ALL.map(|level| max_uncommitted_lines(Some(level), policy));
    format!(
        "uncommitted lines: patch {patch}, task {task}, feature {feature} (policy.gates.loc_limit, loc_patch_percent, loc_task_percent)"
    )
}
