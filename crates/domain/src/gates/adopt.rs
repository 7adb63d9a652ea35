//! `adopt` gate: blocks writing plans in a clone or copy that this user has not adopted, because the
//! approvals they would rest on do not count there yet.

use super::event::{Event, IntendedChange, Objections, Subject};
use super::{Gate, GateScope, Objection};
use crate::host_event::FileEffect;
use crate::policy::{GateMode, Policy};
use crate::text::count_with_noun;

pub(super) const GATE: Gate = Gate {
    name: "adopt",
    text: "writing a plan in a clone or copy this user has not adopted; a person adopts it: tl state adopt",
    scope: GateScope::Project,
    never_overridden: Some((
        "a clone is adopted as a whole, not for one step",
        "tl state adopt   # in your own terminal",
    )),
    heeded_by: &[],
    mode: |policy| {
        let gates = &policy.gates;
        // A project that only wants warnings is not stricter in a clone.
        match [gates.hierarchy, gates.read_before_write, gates.shrink].contains(&GateMode::Block) {
            true => GateMode::Block,
            false => GateMode::Warn,
        }
    },
    check: check_adoption,
    concerns: |facts, _| facts.find_changed_plan(|_| true),
    limits: None,
};

/// What of a clone or copy is not adopted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unadopted {
    /// The whole state came from elsewhere and cannot be used.
    State,
    /// The decisions of others that came with it are left out.
    Decisions,
}

impl Unadopted {
    /// Returns why nothing is to be written, and what a person does about it.
    #[must_use]
    pub fn objection(self) -> Objection {
        let (why, next_steps) = match self {
            Self::State => (
                "the state of this project came from elsewhere (a clone, a copy) and was not adopted by this user: its \
                 approvals do not count yet, and its gates cannot be evaluated",
                &[
                    "ask the person to run `tl state adopt`   # takes over its approvals",
                    "or to run `tl state rebuild`   # starts from the plan files, everything a draft",
                ][..],
            ),
            Self::Decisions => (
                "this clone is not adopted by this user: decisions of others (approvals, for example) do not count \
                 here yet, so its plans are not to be written",
                &["ask the person to run `tl state adopt` in their own terminal"][..],
            ),
        };
        let next_steps = next_steps.iter().map(|step| (*step).to_owned());
        Objection::new(why.to_owned(), next_steps.collect())
    }
}

/// Describes decisions of others that do not count, and what a person does about it.
#[must_use]
pub fn describe_unadopted_decisions(count: usize) -> String {
    format!(
        "Throughline: this clone is not adopted yet, so {} of others (approvals, for example) do not count here. \
         Ask the person to run `tl state adopt` in their own terminal.",
        count_with_noun(count, "decision", "decisions"),
    )
}

fn check_adoption<'e>(event: &Event<'e>, _policy: &Policy) -> Objections<'e> {
    let Some(unadopted) = event.unadopted else {
        return Vec::new();
    };
    let is_changed = |doing| !matches!(doing, IntendedChange::Changing(FileEffect::Read));
    let plan = event.plans.iter().find(|step| is_changed(step.doing));
    // One objection for the step: adopting clears all of it.
    let subject = match (plan, event.is_typed_command) {
        (Some(step), _) => step.place.path_alias(),
        // We carry out typed commands ourselves, on the state that does not count.
        (None, true) => "typed command".to_owned(),
        (None, false) => return Vec::new(),
    };
    vec![(Subject::of_project(subject), unadopted.objection())]
}
