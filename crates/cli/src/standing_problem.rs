//! When a problem that lasts (broken settings, a clone that is not adopted) is told to the agent.
//!
//! At the start of a session and at every prompt, because nothing else reminds of it. Where the host
//! takes no context with a prompt, the first call that finishes after the prompt carries it.

use domain::host_event::{Happening, HostEvent};

use crate::hook_ledger::LedgerFile;

/// Whether the reply to an event is the one in which the agent is told. The ledger is read only where
/// the host takes no context with prompts.
pub(crate) fn is_told_to_agent_at(event: &HostEvent, ledger: &LedgerFile) -> bool {
    let takes_prompts = event.host.accepts_context_with_prompts();
    match &event.happening {
        Happening::SessionStarted { .. } => true,
        Happening::PromptSubmitted { .. } => takes_prompts,
        Happening::ToolFinished { .. } => {
            !takes_prompts
                && event.agent.is_none()
                && ledger.has_told_nothing_since_prompt(&event.session)
        }
        _ => false,
    }
}
