//! So many changed lines without a commit are enough: what nobody looked at grows into what nobody can look at.

use super::{Gate, Objection, WorkStep};
use crate::policy::Policy;

pub(super) const GATE: Gate = Gate {
    name: "loc",
    text: "more edits after too many changed lines without a commit; commit",
    mode: |policy| policy.loc,
    plan: None,
    work: Some(check),
};

fn check(step: &WorkStep<'_>, policy: &Policy) -> Option<Objection> {
    let (lines, most) = (step.uncommitted?, policy.gates.loc_limit);
    (lines > most).then(|| {
        Objection::new(
            format!("{lines} changed lines are not committed; {most} are the most before a commit"),
            vec![
                "git add -A && git commit   # what works, with a message that says what it is"
                    .to_owned(),
                "tl where --flat   # what counts".to_owned(),
            ],
        )
    })
}
