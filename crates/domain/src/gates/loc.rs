//! `loc` gate: blocks edits once more than `loc_limit` changed lines are uncommitted, because large
//! diffs do not get reviewed. A patch has half of the limit.

use super::event::WorkStep;
use super::{Gate, GateScope, Objection};
use crate::policy::Policy;
use crate::work::work_level::WorkLevel;

pub(super) const GATE: Gate = Gate {
    name: "loc",
    text: "more edits after too many changed lines without a commit; commit",
    scope: GateScope::Work,
    never_overridden: None,
    heeded_by: &["commit"],
    mode: |policy| policy.gates.loc,
    check: |event, policy| event.check_work(|step| check_uncommitted_lines(step, policy)),
    concerns: |facts, _| facts.find_work_file(),
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
    if most < policy.gates.loc_limit {
        limit.push_str(" for a patch");
        next_steps.push(format!(
            "tl ticket level {} task   # if it is more than a patch: {} lines",
            step.node, policy.gates.loc_limit
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
    level.map_or(limit, |level| level.max_uncommitted_lines(limit))
}
