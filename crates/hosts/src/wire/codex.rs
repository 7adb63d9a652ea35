//! Codex CLI's events and answers: those of Claude Code, without any extra field.
//!
//! Codex rejects an answer with a field it does not know, and lets the call pass.

use domain::host_event::{Happening, Host, HostEvent};
use serde_json::Value;

use super::answer::HostAnswer;
use super::fields::Fields;
use super::{claude_code, prompt};

pub(super) fn read_event(name: &str, fields: &Fields<'_>) -> Option<HostEvent> {
    let mut event = claude_code::read_event(Host::Codex, name, fields)?;
    // Commands are installed as skills here, and skills are invoked by a mention: `$approve-plan`.
    if let Happening::PromptSubmitted { prompt: text } = &mut event.happening {
        *text = prompt::restore_mentioned_prompt(std::mem::take(text));
    }
    Some(event)
}

pub(super) fn render_answer(event: &HostEvent, answer: &HostAnswer) -> Option<Value> {
    claude_code::render_without_notice(event, answer)
}
