//! What can be decided about a tool call before the state is opened.

use domain::gates::{self, CallFacts, CalledPlan, CommandFacts, Event};
use domain::host_event::{Happening, HostEvent};
use domain::policy::Policy;
use domain::ports::{FileStatResult, PlanFiles};
use domain::profile::Profile;

use super::EventOutcome;
use super::gather::{command_facts, overwritten_session_files};
use super::plans::{TouchedPlan, touched_files, touched_plans};

/// The tool call of an event, with its paths resolved.
#[derive(Clone, Debug)]
pub struct ObservedCall<'p> {
    profiles: &'p [Profile],
    /// The plans it reads or changes.
    pub plans: Vec<TouchedPlan<'p>>,
    /// Other files of the project it changes, relative to it.
    pub files: Vec<String>,
    session_files: Vec<String>,
    command: CommandFacts,
}

impl<'p> ObservedCall<'p> {
    /// Resolves the files of an event on disk.
    #[must_use]
    pub fn from_event(files: &dyn PlanFiles, profiles: &'p [Profile], event: &HostEvent) -> Self {
        let call = event.happening.tool_call();
        Self {
            profiles,
            plans: touched_plans(files, profiles, event),
            files: touched_files(files, profiles, event),
            session_files: call
                .map(|call| overwritten_session_files(files, event, call))
                .unwrap_or_default(),
            command: call.map(command_facts).unwrap_or_default(),
        }
    }

    /// Whether the event needs the state.
    #[must_use]
    pub fn concerns_state(&self, event: &HostEvent, policy: &Policy) -> bool {
        let plans = self.called_plans(|_| true);
        gates::concerns_state(event, &self.call_facts(&plans), policy)
    }

    /// Returns the fail-closed gate that has to block the call if the gates cannot be evaluated,
    /// and what of the call it is about.
    #[must_use]
    pub fn find_unchecked(
        &self,
        files: &dyn PlanFiles,
        policy: &Policy,
    ) -> Option<(&'static str, String)> {
        let plans = self.called_plans(|file| {
            matches!(
                files.stat_file(file),
                FileStatResult::Present(_) | FileStatResult::Unavailable(_)
            )
        });
        gates::find_unchecked(&self.call_facts(&plans), policy, &policy.gates.fail_closed)
    }

    /// Returns the refusal of a call by a gate that needs no state.
    #[must_use]
    pub fn refuse_without_state(&self, event: &HostEvent, policy: &Policy) -> Option<EventOutcome> {
        let Happening::ToolAboutToRun(_) = &event.happening else {
            return None;
        };
        let verdict = gates::evaluate(
            &Event {
                profiles: self.profiles,
                files: &self.files,
                command: self.command,
                ..Event::default()
            },
            policy,
        );
        (!verdict.blocks.is_empty()).then(|| EventOutcome::from_block(verdict))
    }

    fn called_plans(&self, exists: impl Fn(&str) -> bool) -> Vec<CalledPlan<'_>> {
        self.plans
            .iter()
            .map(|plan| CalledPlan {
                place: &plan.place,
                effect: &plan.effect,
                exists: exists(&plan.file),
            })
            .collect()
    }

    fn call_facts<'f>(&'f self, plans: &'f [CalledPlan<'f>]) -> CallFacts<'f> {
        CallFacts {
            profiles: self.profiles,
            plans,
            files: &self.files,
            session_files: &self.session_files,
            command: self.command,
        }
    }
}
