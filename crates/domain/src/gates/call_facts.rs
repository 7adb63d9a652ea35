//! What is known of a tool call without the state: which gates it concerns, and whether the state
//! has to be opened at all.

use super::event::CommandFacts;
use super::{GATES, Gate, has_work_gates};
use crate::host_event::{FileEffect, Happening, HostEvent};
use crate::plan_document::split_document_path;
use crate::policy::Policy;
use crate::profile::{PlanPlace, Profile, find_expected_path, locate_items, locate_output};
use crate::trail;
use crate::work::uncommitted::is_exempt;

/// A tool call, as far as it can be judged without the state.
#[derive(Clone, Copy, Debug)]
pub struct CallFacts<'c> {
    pub profiles: &'c [Profile],
    /// The plans it reads or changes.
    pub plans: &'c [CalledPlan<'c>],
    /// Other files of the project it changes.
    pub files: &'c [String],
    /// The session files it overwrites.
    pub session_files: &'c [String],
    pub command: CommandFacts,
}

/// A plan file of a tool call.
#[derive(Clone, Copy, Debug)]
pub struct CalledPlan<'c> {
    pub place: &'c PlanPlace<'c>,
    pub effect: &'c FileEffect,
    /// Whether the file exists. An unreadable one counts: its content is to be protected.
    pub exists: bool,
}

impl<'c> CallFacts<'c> {
    /// Iterates over the plans it changes.
    pub(super) fn changed_plans(&self) -> impl Iterator<Item = &'c CalledPlan<'c>> {
        self.plans.iter().filter(|plan| plan.effect.modifies_file())
    }

    /// Returns the first changed plan that fits, by its path.
    pub(super) fn find_changed_plan(
        &self,
        fits: impl Fn(&CalledPlan<'_>) -> bool,
    ) -> Option<String> {
        self.changed_plans()
            .find(|plan| fits(plan))
            .map(|plan| plan.place.path_alias())
    }

    /// Returns the first changed file that is the output of a plan, by the path of its node.
    pub(super) fn find_output(&self) -> Option<String> {
        let place = |file: &String| locate_output(self.profiles, file);
        let place = self.files.iter().find_map(place)?;
        Some(place.path_alias())
    }

    /// Whether a changed file has the items of a level, belongs to a plan document, or lies where a plan
    /// is not read.
    fn changes_items_or_misplaced(&self) -> bool {
        self.files.iter().any(|file| {
            locate_items(self.profiles, file).is_some()
                || split_document_path(file).is_some()
                || find_expected_path(self.profiles, file).is_some()
        })
    }

    /// Returns the first changed file that the work gates are about.
    pub(super) fn find_work_file(&self) -> Option<String> {
        let is_work = |file: &&String| !is_exempt(self.profiles, file);
        self.files
            .iter()
            .filter(|_| has_work_gates(self.profiles))
            .find(is_work)
            .cloned()
    }
}

/// Returns the first fail-closed gate that a call concerns, and what of it: the call is blocked by
/// that gate if it cannot be evaluated.
#[must_use]
pub fn find_unchecked(
    facts: &CallFacts<'_>,
    policy: &Policy,
    fail_closed: &[String],
) -> Option<(&'static str, String)> {
    let is_closed = |gate: &&Gate| fail_closed.iter().any(|name| name == gate.name);
    GATES
        .iter()
        .filter(is_closed)
        .find_map(|gate| Some((gate.name, concerned_subject(gate, facts, policy)?)))
}

/// Returns what of a call a gate would have to check.
fn concerned_subject(gate: &Gate, facts: &CallFacts<'_>, policy: &Policy) -> Option<String> {
    let is_used = facts
        .profiles
        .iter()
        .any(|profile| profile.has_gate(gate.name));
    is_used.then(|| (gate.concerns)(facts, policy)).flatten()
}

/// Whether an event needs the state. Most tool calls concern nothing and must stay cheap: opening
/// the state takes about a millisecond.
#[must_use]
pub fn concerns_state(event: &HostEvent, facts: &CallFacts<'_>, policy: &Policy) -> bool {
    let profiles = facts.profiles;
    // A trail records every call.
    let has_trail = trail::has_trail_profile(profiles);
    let has_work = has_trail || profiles.iter().any(|profile| profile.gates.is_some());
    // Not the gates' modes: the policy in force may be stricter than the one in the settings file.
    match &event.happening {
        Happening::ToolAboutToRun(call) => {
            facts.changed_plans().next().is_some()
                || (has_work && !facts.files.is_empty())
                || GATES
                    .iter()
                    .any(|gate| concerned_subject(gate, facts, policy).is_some())
                || call.runs_tl()
                // Planning that is handed over is gated like a typed command.
                || call.delegated_text().is_some()
        }
        Happening::ToolFinished { call, .. } => {
            // A host without a session start after compaction gets its briefing with the next
            // command.
            let may_be_owed = call.command.is_some() && !event.host.restarts_after_compaction();
            has_trail
                || !facts.plans.is_empty()
                || (has_work && !facts.files.is_empty())
                || facts.find_output().is_some()
                || facts.changes_items_or_misplaced()
                || call.may_change_anything()
                || may_be_owed
        }
        Happening::SubagentStopping => false,
        _ => true,
    }
}
