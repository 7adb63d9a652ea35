//! Handles one event of an agent host: scans the plan files, evaluates the gates, returns what the
//! agent should know.
//!
//! One process, one event, at most one write transaction. Operations go into the synced journal;
//! session memory (which plans a session has read) is kept as notes, which may be lost without
//! harm.

mod host_sessions;
mod kept_files;
mod overlaps;
mod plan_messages;
mod plans;
mod prompt_submitted;
mod session_events;
mod signals;
mod tool_about_to_run;
mod tool_finished;
mod work_gates;

use domain::calling_session::ProcessIdentity;
use domain::gates::FiredGate;
use domain::host_event::{Happening, HostEvent, Reply};
use domain::ids::Principal;

pub use self::host_sessions::identifies_session;
pub(crate) use self::plans::find_recorded;
pub use self::plans::{TouchedPlan, touched_files, touched_plans};
pub(crate) use self::tool_about_to_run::override_key;
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
}

impl EventOutcome {
    /// Merges the outcome of another handler of the same event.
    #[must_use]
    pub fn merge(mut self, more: Self) -> Self {
        let join = |into: &mut Option<String>, text: Option<String>| match (into.as_mut(), text) {
            // Joined, not replaced: two gates may block one call, and the agent should see both
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
        self
    }

    fn with_context(context: Option<String>) -> Self {
        Self {
            reply: Reply {
                context,
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
    /// The host's process, where it is known and the event names a session.
    pub host_process: Option<&'a ProcessIdentity>,
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
            let handled =
                tool_about_to_run::handle_tool_about_to_run(ctx, event, call, surroundings)?
                    .merge(signals::check_trail_gates(ctx, event, call, surroundings)?);
            // A blocked call changes nothing. Hosts that drop context before a tool get it after.
            if handled.reply.block.is_some() || !event.host.accepts_context_before_tools() {
                return Ok(handled);
            }
            Ok(handled.merge(overlaps::tell_overlaps(ctx, event, surroundings)?))
        }
        Happening::ToolFinished { call, failed } => {
            let plans =
                tool_finished::handle_tool_finished(ctx, event, call, *failed, surroundings)?;
            let handled = plans.merge(signals::count_finished_call(
                ctx,
                event,
                call,
                *failed,
                surroundings,
            )?);
            if event.host.accepts_context_before_tools() {
                return Ok(handled);
            }
            Ok(handled.merge(overlaps::tell_overlaps(ctx, event, surroundings)?))
        }
        Happening::PromptSubmitted { prompt } => {
            let handled = prompt_submitted::handle_prompt(ctx, event, prompt, surroundings)?;
            session_events::record_presence(ctx)?;
            Ok(handled)
        }
        Happening::SessionStarted { source } => {
            let started = session_events::handle_start(ctx, event, *source, surroundings)?;
            // The briefing already lists the open signals, so they must not be repeated after the
            // first tool call.
            signals::mark_signals_reported(ctx)?;
            session_events::record_presence(ctx)?;
            Ok(started)
        }
        Happening::Compacting => session_events::handle_compacting(ctx, event),
        Happening::Compacted => session_events::handle_compacted(ctx, event),
        Happening::Stopping { again } => session_events::handle_stop(ctx, event, *again),
        // A subagent's turn is part of the main agent's, whose own stop is handled.
        Happening::SubagentStopping => Ok(EventOutcome::default()),
        Happening::SessionEnded => session_events::handle_end(ctx, event, surroundings),
    }
}
