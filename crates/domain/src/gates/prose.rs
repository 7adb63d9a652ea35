//! Part of the `hierarchy` gate: blocks writing the output of a plan (prose, an answer) that is
//! missing, stale or not approved. It would have to be written again.

use super::Objection;
use super::event::OutputStep;
use super::hierarchy::StalePlan;
use crate::approval::ask_person_next_step;
use crate::node::{Content, Status};
use crate::policy::Policy;

pub(super) fn check_prose(step: &OutputStep<'_>, policy: &Policy) -> Option<Objection> {
    let (plan, file) = (step.place.path_alias(), step.file);
    let level = &step.place.level.name;
    let again = format!("write {file} again once `{plan}` is approved");
    let Some(node) = step
        .node
        // A recorded node whose file is gone has no text that prose could follow.
        .filter(|node| !matches!(node.content, Content::Missing))
    else {
        return Some(Objection::new(
            format!("`{file}` cannot be written: `{plan}` has no plan yet"),
            vec![format!("tl plan {level} {plan}   # plan it first"), again],
        ));
    };
    let (why, steps) = match node.status() {
        Status::Approved => return None,
        Status::RequiresRevalidation => {
            let stale = StalePlan::new(&plan, step.undecided);
            (stale.describe(), stale.next_steps(policy))
        }
        Status::Invalid => (
            "is invalid".to_owned(),
            vec![format!("tl why {plan}   # it has to be rewritten")],
        ),
        Status::Draft => (
            "is a draft, not approved".to_owned(),
            vec![match policy.approval.requires_person() {
                true => ask_person_next_step(&plan),
                false => format!("tl approve {plan}   # ask the person"),
            }],
        ),
    };
    Some(Objection::new(
        format!("`{file}` cannot be written: its plan `{plan}` {why}"),
        steps.into_iter().chain([again]).collect(),
    ))
}
