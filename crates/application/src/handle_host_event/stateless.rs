//! What can be decided about a tool call before the state is opened.

use domain::gates::{self, CallFacts, CalledPlan, CommandFacts, Event};
use domain::host_event::{Happening, HostEvent};
use domain::ids::Digest32;
use domain::policy::Policy;
use domain::ports::{FileReadResult, FileStatResult, PlanFiles};
use domain::profile::Profile;
use domain::session_state::MissedCall;

use super::EventOutcome;
use super::gather::{command_facts, overwritten_session_files};
use super::plans::{TouchedPlan, touched_files, touched_plans};

/// Maximum size of a text whose digest is remembered for a call that could not be recorded.
const MAX_MISSED_TEXT_BYTES: u64 = 16 * 1024 * 1024;

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
        // A file that cannot be read now may exist: a fail-closed gate must not take it for a new
        // one.
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
        // Only what needs no state: protected folders and the command line itself. The other gates
        // have nothing to judge.
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

    /// Returns what has to be remembered of a finished call if it cannot be recorded.
    #[must_use]
    pub fn unrecorded_call(&self, event: &HostEvent) -> Option<UnrecordedCall> {
        let Happening::ToolFinished {
            call,
            failed: false,
        } = &event.happening
        else {
            return None;
        };
        let plans = self.plans.iter().map(|plan| plan.file.clone());
        let unrecorded = UnrecordedCall {
            texts: plans.chain(self.session_files.iter().cloned()).collect(),
            files: self.files.clone(),
            may_change_anything: call.may_change_anything(),
        };
        Some(unrecorded)
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

/// A finished call whose texts are not read yet: that is only needed if it cannot be recorded.
#[derive(Clone, Debug)]
pub struct UnrecordedCall {
    texts: Vec<String>,
    files: Vec<String>,
    may_change_anything: bool,
}

impl UnrecordedCall {
    /// Reads the texts; `None` if there is nothing to remember.
    #[must_use]
    pub fn into_missed_call(self, files: &dyn PlanFiles) -> Option<MissedCall> {
        let read_digest = |file: String| match files.read_file(&file, MAX_MISSED_TEXT_BYTES) {
            FileReadResult::Text { text, .. } => Some((file, Digest32::of_bytes(text.as_bytes()))),
            FileReadResult::Missing | FileReadResult::Unreadable { .. } => None,
        };
        let missed = MissedCall {
            texts: self.texts.into_iter().filter_map(read_digest).collect(),
            files: self.files,
            may_change_anything: self.may_change_anything,
        };
        (missed != MissedCall::default()).then_some(missed)
    }
}
