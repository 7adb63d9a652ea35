//! Notice about a fault that kept a hook from its work, for the agent and the person.
//!
//! It is part of the reply to the very event that failed: a report that waits for the next good hook
//! never comes while the fault lasts, and the agent would go on for days with open gates.

use application::Failure;
use domain::host_event::{Happening, HostEvent, Reply};
use domain::secrets::mask_secrets;
use domain::text::clean_line;

/// Why a hook could not do its work, and what to do about it.
pub(crate) struct HookFault {
    pub(crate) why: String,
    next_steps: Vec<String>,
}

impl HookFault {
    /// A fault of which nothing more is known.
    pub(crate) fn internal(why: &str) -> Self {
        Self {
            why: why.to_owned(),
            next_steps: Vec::new(),
        }
    }

    /// Adds the notice where agents and people read it: at the start of a session, at a prompt, and,
    /// for hosts that pass on nothing there, at a stop.
    pub(crate) fn add_notice(&self, mut reply: Reply, event: &HostEvent) -> Reply {
        let goes_to_agent = match event.happening {
            Happening::SessionStarted { .. } | Happening::PromptSubmitted { .. } => true,
            // Context at a stop would make some hosts go on.
            Happening::Stopping { .. } => false,
            _ => return reply,
        };
        // A refusal names the fault itself.
        if reply.block.is_some() {
            return reply;
        }
        let message = self.render_notice();
        if goes_to_agent {
            reply.context = Some(message.clone());
        }
        reply.notice = Some(message);
        reply
    }

    fn render_notice(&self) -> String {
        let doctor = "tl host doctor   # what is wrong?".to_owned();
        let steps = match self.next_steps.as_slice() {
            [] => std::slice::from_ref(&doctor),
            steps => steps,
        };
        let steps: String = steps
            .iter()
            .map(|step| format!("\n  next: {step}"))
            .collect();
        // An error may quote a path or a damaged row.
        let why = clean_line(&mask_secrets(&self.why));
        format!(
            "Throughline: {why}. While this lasts its gates may not be checked, and nothing is recorded: \
             do not write plans, and tell the person.{steps}"
        )
    }
}

impl From<Failure> for HookFault {
    fn from(failure: Failure) -> Self {
        Self {
            why: failure.message,
            next_steps: failure.next_steps,
        }
    }
}
