//! `hierarchy` gate: blocks planning below a parent that is missing or not approved, and writing the
//! output of a plan that is not.

use super::event::{IntendedChange, ParentPlan, PlanStep};
use super::prose::check_prose;
use super::{Gate, GateScope, Objection};
use crate::approval::{UndecidedPlan, ask_person_next_step, decision_next_step};
use crate::host_event::FileEffect;
use crate::node::{Content, Status};
use crate::policy::Policy;

pub(super) const GATE: Gate = Gate {
    name: "hierarchy",
    text: "a plan or its output below a plan that is missing or not approved; approve that",
    scope: GateScope::Plans,
    never_overridden: None,
    heeded_by: &[],
    mode: |policy| policy.gates.hierarchy,
    check: |event, policy| {
        let mut found = event.check_plans(|step| check_hierarchy(step, policy));
        found.extend(event.check_outputs(|step| check_prose(step, policy)));
        found
    },
    concerns: |facts, _| {
        facts
            // A root has no parent that could stand in its way.
            .find_changed_plan(|plan| plan.place.aliases.len() > 1)
            .or_else(|| facts.find_output())
    },
    limits: None,
};

fn check_hierarchy(step: &PlanStep<'_>, policy: &Policy) -> Option<Objection> {
    // Deleting a plan adds nothing below the parent, so its approval does not matter.
    if matches!(
        step.doing,
        IntendedChange::Changing(FileEffect::Delete | FileEffect::Read)
    ) {
        return None;
    }
    let plan = step.place.path_alias();
    let above = step.place.parent_alias()?;
    // Used twice: for a parent that was never recorded, and for one whose file is gone.
    let missing = || {
        let why = format!("`{plan}` cannot be planned: its parent `{above}` has no plan yet");
        let next_steps = vec![
            format!(
                "tl plan {}   # plan the parent first",
                plan_command_arguments(&above, step)
            ),
            // Where only people approve, an agent is not offered `tl approve` as its own next step.
            match policy.approval.requires_person() {
                true => ask_person_next_step(&above),
                false => format!("tl approve {above}   # then a person approves it"),
            },
        ];
        Objection::new(why, next_steps)
    };
    let parent = match step.parent {
        ParentPlan::None => return None,
        ParentPlan::Missing => return Some(missing()),
        ParentPlan::Known(parent) => parent,
    };
    let objection = |why: String, steps: Vec<String>| {
        let again = format!("write `{plan}` again once `{above}` is approved");
        Objection::new(why, steps.into_iter().chain([again]).collect())
    };
    match (parent.status(), &parent.content) {
        (Status::Approved, _) => None,
        (_, Content::Missing) => Some(missing()),
        (Status::RequiresRevalidation, _) => {
            let stale = StalePlan::new(&above, step.undecided);
            Some(objection(
                format!(
                    "`{plan}` cannot be changed: its parent `{above}` {}",
                    stale.describe()
                ),
                stale.next_steps(policy),
            ))
        }
        (Status::Invalid, _) => Some(objection(
            format!("`{plan}` cannot be changed: its parent `{above}` is invalid"),
            vec![format!("tl why {above}   # it has to be rewritten")],
        )),
        (Status::Draft, _) => Some(objection(
            format!("`{plan}` cannot be planned: its parent `{above}` is a draft, not approved"),
            vec![match policy.approval.requires_person() {
                true => format!(
                    "{}; the text is in {}",
                    ask_person_next_step(&above),
                    plan_file_of(parent)
                ),
                false => format!(
                    "tl approve {above}   # ask the person; the text is in {}",
                    plan_file_of(parent)
                ),
            }],
        )),
    }
}

/// A stale plan in the way, and the plan above it that has to be decided first.
pub(super) struct StalePlan<'s> {
    path: &'s str,
    undecided: Option<&'s UndecidedPlan>,
}

impl<'s> StalePlan<'s> {
    /// Returns the stale plan at `path`; `undecided` is the uppermost plan that is not approved, which
    /// may be this one.
    pub(super) fn new(path: &'s str, undecided: Option<&'s UndecidedPlan>) -> Self {
        Self {
            path,
            undecided: undecided.filter(|plan| plan.path != path),
        }
    }

    pub(super) fn describe(&self) -> String {
        let after = self.undecided.map(|plan| {
            let UndecidedPlan { path, status } = plan;
            format!(", after `{path}` ({status})")
        });
        format!(
            "went stale and waits to be revalidated{}",
            after.unwrap_or_default()
        )
    }

    /// Returns the steps that end its staleness, from the top down.
    pub(super) fn next_steps(&self, policy: &Policy) -> Vec<String> {
        let may_decide = !policy.approval.requires_person();
        let path = self.path;
        let own = match may_decide {
            true => format!("tl why {path}   # then: tl revalidate {path}"),
            false => decision_next_step(path, Status::RequiresRevalidation, may_decide),
        };
        let first = self.undecided.map(|plan| plan.next_step(may_decide));
        first.into_iter().chain([own]).collect()
    }
}

/// Returns the plan file to review; a node without one has its text in the store only.
fn plan_file_of(parent: &crate::node::Node) -> &str {
    parent.path.as_deref().unwrap_or("the store")
}

/// Returns the arguments of `tl plan` for the parent: `act act-1`.
fn plan_command_arguments(above: &str, step: &PlanStep<'_>) -> String {
    let level = step.place.level.under.first().map_or("", String::as_str);
    format!("{level} {above}")
}
