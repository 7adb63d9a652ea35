//! Handles one event of an agent host: gather → decide → commit → report.
//!
//! One process, one event: one read snapshot, one evaluation of the gates, at most one write
//! transaction. Operations go into the synced journal; the session's state is a note, which may be
//! lost without harm.

mod commit;
mod delegated_planning;
mod finished_work;
mod fitting;
mod gather;
mod host_sessions;
mod missed_calls;
mod named_ticket;
mod operation_news;
mod overlaps;
mod plan_messages;
mod planned_write;
mod plans;
mod prompt_submitted;
mod session_events;
mod signals;
mod stateless;
mod subagent_events;
mod tool_about_to_run;
mod tool_finished;
mod typed_decision;
mod work_facts;
mod written_prose;

use domain::calling_session::ProcessIdentity;
use domain::gates::{self, FiredGate, GateVerdict};
use domain::host_event::{Happening, HostEvent, Reply};
use domain::ids::Principal;
use domain::session_state::MissedCall;

pub use self::gather::evaluate_unadopted;
pub(crate) use self::gather::{
    NextStep, evaluate_step, evaluate_with_overrides, override_note_key,
};
pub use self::host_sessions::identifies_session;
pub(crate) use self::planned_write::{
    PlannedNode, PlannedWrite, evaluate_planning, evaluate_write, use_up_overrides,
};
pub(crate) use self::plans::find_recorded;
pub use self::plans::{TouchedPlan, touched_files, touched_plans};
pub use self::stateless::{ObservedCall, UnrecordedCall};
use crate::context::Context;
use crate::failure::Failure;

/// The outcome of a host's event.
#[derive(Clone, Debug, Default)]
pub struct EventOutcome {
    pub reply: Reply,
    /// Gates that blocked.
    pub blocked: Vec<FiredGate>,
    /// Gates that only warned.
    pub warned: Vec<FiredGate>,
    /// Whether the reply reports earlier hook errors.
    pub faults_told: bool,
    /// Whether the missed calls of the event's context are recorded now.
    pub missed_recorded: bool,
}

impl EventOutcome {
    /// Merges the outcome of the same event in another project.
    #[must_use]
    pub fn merge(mut self, more: Self) -> Self {
        let join = |into: &mut Option<String>, text: Option<String>| match (into.as_mut(), text) {
            // Joined, not replaced: two projects may block one call, and the agent should see both
            // reasons at once instead of one per attempt.
            (Some(before), Some(text)) => before.push_str(&format!("\n\n{text}")),
            (None, text) => *into = text,
            (Some(_), None) => {}
        };
        join(&mut self.reply.block, more.reply.block);
        join(&mut self.reply.context, more.reply.context);
        join(&mut self.reply.notice, more.reply.notice);
        join(
            &mut self.reply.compaction_prompt,
            more.reply.compaction_prompt,
        );
        self.blocked.extend(more.blocked);
        self.warned.extend(more.warned);
        self.faults_told |= more.faults_told;
        self.missed_recorded |= more.missed_recorded;
        self
    }

    /// Returns an outcome that tells the agent something.
    #[must_use]
    pub fn with_context(text: String) -> Self {
        Self::from_messages(&[text])
    }

    /// Returns the outcome of a blocked step.
    fn from_block(verdict: GateVerdict) -> Self {
        Self::from_known_block(verdict, &|_| false)
    }

    /// Like [`Self::from_block`], with gates that the conversation knows in one line.
    fn from_known_block(verdict: GateVerdict, is_known: &dyn Fn(&FiredGate) -> bool) -> Self {
        Self {
            reply: Reply {
                block: Some(gates::render_known_objections(&verdict.blocks, is_known)),
                context: gates::render_handovers(&verdict.handovers),
                ..Reply::default()
            },
            blocked: verdict.blocks,
            warned: [verdict.warnings, verdict.handovers].concat(),
            ..Self::default()
        }
    }

    /// Returns the outcome of a step that passes, with messages for the agent.
    fn from_messages(messages: &[String]) -> Self {
        Self {
            reply: Reply {
                context: (!messages.is_empty()).then(|| messages.join("\n\n")),
                ..Reply::default()
            },
            ..Self::default()
        }
    }
}

/// Facts about an event that only the edge knows.
#[derive(Clone, Debug)]
pub struct EventContext<'a> {
    /// The person at the host: a typed command is their decision.
    pub person: &'a Principal,
    /// The plans the event's tool call touches.
    pub plans: &'a [TouchedPlan<'a>],
    /// Other files of the project the call changes, relative to it.
    pub files: &'a [String],
    /// Hook errors since the last contact, to be reported once.
    pub faults: Option<&'a str>,
    /// Earlier calls of the session that could not be recorded.
    pub missed: &'a [MissedCall],
    /// The host's process, where it is known and the event names a session.
    pub host_process: Option<&'a ProcessIdentity>,
    /// Whether something was recorded since the session was last told what others did.
    pub may_have_news: bool,
}

/// Handles one event.
///
/// # Errors
/// Store errors only; a gate that blocks is a regular outcome.
pub fn handle_host_event(
    ctx: &Context<'_>,
    event: &HostEvent,
    surroundings: &EventContext<'_>,
) -> Result<EventOutcome, Failure> {
    match &event.happening {
        Happening::ToolAboutToRun(call) => {
            tool_about_to_run::handle_tool_about_to_run(ctx, event, call, surroundings)
        }
        Happening::ToolFinished { call, failed } => {
            tool_finished::handle_tool_finished(ctx, event, call, *failed, surroundings)
        }
        Happening::PromptSubmitted { prompt } => {
            prompt_submitted::handle_prompt(ctx, event, prompt, surroundings)
        }
        Happening::SessionStarted { source } => {
            session_events::handle_start(ctx, event, *source, surroundings)
        }
        Happening::Compacting => session_events::handle_compacting(ctx, event),
        Happening::Compacted => session_events::handle_compacted(ctx, event),
        Happening::Stopping { again } => {
            session_events::handle_stop(ctx, event, *again, surroundings)
        }
        Happening::SubagentStarted => {
            subagent_events::handle_subagent_start(ctx, event, surroundings)
        }
        // A subagent's turn is part of the main agent's, whose own stop is handled.
        Happening::SubagentStopping => Ok(EventOutcome::default()),
        Happening::SessionEnded => session_events::handle_end(ctx, event, surroundings),
    }
}
