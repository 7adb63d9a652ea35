//! Codex CLI's events: those of Claude Code.

use domain::host_event::{Happening, Host, HostEvent};

use crate::claude_code;
use crate::wire::fields::Fields;
use crate::wire::prompt;

pub(super) fn read_event(name: &str, fields: &Fields<'_>) -> Option<HostEvent> {
    let mut event = claude_code::wire::read_event(Host::Codex, name, fields)?;
    // Commands are installed as skills here, and skills are invoked by a mention: `$approve-plan`.
    if let Happening::PromptSubmitted { prompt: text } = &mut event.happening {
        *text = prompt::restore_mentioned_prompt(std::mem::take(text));
    }
    Some(event)
}
