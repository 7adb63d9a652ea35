//! One event of an agent host: observe, ask the gates, tell what is worth telling.
//!
//! One process, one event, at most one transaction that writes. What is recorded as an operation is in the
//! synced journal; what is only noted (who has read what) may be lost without harm.

mod effects;
mod plans;
mod prompt_submitted;
mod session;
mod tool_about_to_run;
mod tool_finished;

use domain::gates::Fired;
use domain::host_event::{Happening, HostEvent, Reply};
use domain::ids::Principal;

pub use self::plans::{TouchedPlan, touched_plans};
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
    fn saying(context: Option<String>) -> Self {
        Self { reply: Reply { context, ..Reply::default() }, ..Self::default() }
    }
}

/// What the edge knows and the event does not say.
#[derive(Clone, Debug)]
pub struct Surroundings<'a> {
    /// Who sits before the host: whose decision a typed command is.
    pub person: &'a Principal,
    /// The plans the event's tool call touches.
    pub plans: &'a [TouchedPlan<'a>],
    /// What went wrong in hooks since the last contact, to be told once.
    pub faults: Option<&'a str>,
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
        Happening::ToolAboutToRun(_) => tool_about_to_run::handle(ctx, event, surroundings.plans),
        Happening::ToolFinished { call, failed } => {
            tool_finished::handle(ctx, event, call, *failed, surroundings.plans)
        }
        Happening::PromptSubmitted { prompt } => prompt_submitted::handle(ctx, event, prompt, surroundings),
        Happening::SessionStarted { source } => session::started(ctx, event, *source, surroundings.faults),
        Happening::Compacting => session::compacting(ctx, event),
        Happening::Compacted => session::compacted(ctx, event),
        Happening::Stopping { .. } => session::stopping(ctx, event),
        Happening::SubagentStopping => Ok(Handled::default()),
        Happening::SessionEnded => session::ended(ctx, event),
    }
}
