//! One event of an agent host: observe, ask the gates, tell what is worth telling.
//!
//! One process, one event, at most one transaction that writes. What is recorded as an operation is in the
//! synced journal; what is only noted (who has read what) may be lost without harm.

mod effects;
mod frozen;
mod hosting;
mod plans;
mod prompt_submitted;
mod session;
mod signals;
mod tool_about_to_run;
mod tool_finished;
mod work;

use domain::caller::ProcessIdentity;
use domain::gates::Fired;
use domain::host_event::{Happening, HostEvent, Reply};
use domain::ids::Principal;

pub use self::hosting::{calls_us, names_a_session};
pub(crate) use self::plans::recorded;
pub use self::plans::{TouchedPlan, touched_files, touched_plans};
pub(crate) use self::tool_about_to_run::override_key;
use crate::context::Context;
use crate::failure::Failure;

/// What a host's event led to.
#[derive(Clone, Debug, Default)]
pub struct Handled {
    pub reply: Reply,
    /// Gates that blocked.
    pub blocked: Vec<Fired>,
    /// Gates that only warned.
    pub warned: Vec<Fired>,
    /// The reply holds what went wrong in hooks.
    pub faults_told: bool,
}

impl Handled {
    /// Adds what another part of the same event led to.
    #[must_use]
    pub fn and(mut self, more: Self) -> Self {
        let join = |into: &mut Option<String>, text: Option<String>| match (into.as_mut(), text) {
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

    fn saying(context: Option<String>) -> Self {
        Self {
            reply: Reply {
                context,
                ..Reply::default()
            },
            ..Self::default()
        }
    }
}

/// What the edge knows and the event does not say.
#[derive(Clone, Debug)]
pub struct Surroundings<'a> {
    /// Who sits before the host: whose decision a typed command is.
    pub person: &'a Principal,
    /// The plans the event's tool call touches.
    pub plans: &'a [TouchedPlan<'a>],
    /// Other files of the project the call changes, relative to it.
    pub files: &'a [String],
    /// What went wrong in hooks since the last contact, to be told once.
    pub faults: Option<&'a str>,
    /// The host's process, where it is known and the event names a session.
    pub host_process: Option<&'a ProcessIdentity>,
}

/// Handles one event.
///
/// # Errors
/// Faults of the state only; a gate's no is an answer.
pub fn handle_host_event(
    ctx: &Context<'_>,
    event: &HostEvent,
    surroundings: &Surroundings<'_>,
) -> Result<Handled, Failure> {
    match &event.happening {
        Happening::ToolAboutToRun(call) => Ok(tool_about_to_run::handle(
            ctx,
            event,
            call,
            surroundings,
        )?
        .and(signals::before(ctx, event, call, surroundings)?)),
        Happening::ToolFinished { call, failed } => {
            let plans = tool_finished::handle(ctx, event, call, *failed, surroundings)?;
            Ok(plans.and(signals::after(ctx, event, call, *failed, surroundings)?))
        }
        Happening::PromptSubmitted { prompt } => {
            prompt_submitted::handle(ctx, event, prompt, surroundings)
        }
        Happening::SessionStarted { source } => {
            let started = session::started(ctx, event, *source, surroundings)?;
            signals::briefed(ctx)?;
            Ok(started)
        }
        Happening::Compacting => session::compacting(ctx, event),
        Happening::Compacted => session::compacted(ctx, event),
        Happening::Stopping { again } => session::stopping(ctx, event, *again),
        Happening::SubagentStopping => Ok(Handled::default()),
        Happening::SessionEnded => session::ended(ctx, event, surroundings),
    }
}
