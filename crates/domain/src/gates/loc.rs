//! `loc` gate: blocks edits once more than `loc_limit` changed lines are uncommitted, because large
//! diffs do not get reviewed.

use super::event::WorkStep;
use super::{Gate, GateScope, Objection};
use crate::policy::Policy;

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
    let (lines, most) = (step.uncommitted?, policy.gates.loc_limit);
    (lines > most).then(|| {
        Objection::new(
            format!("{lines} changed lines are not committed; the limit is {most}"),
            vec![
                "git add -A && git commit   # what works, with a message that says what it is"
                    .to_owned(),
                "tl where --flat   # what counts".to_owned(),
            ],
        )
    })
}
