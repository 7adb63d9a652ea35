//! Codex CLI's events and answers: those of Claude Code, without any extra field.
//!
//! Codex rejects an answer with a field it does not know, and lets the call pass.

use domain::host_event::{Happening, Host, HostEvent};
use serde_json::Value;

use super::answer::Answer;
use super::fields::Fields;
use super::{claude_code, prompt};

pub(super) fn read(name: &str, fields: &Fields<'_>) -> Option<HostEvent> {
    let mut event = claude_code::read(Host::Codex, name, fields)?;
    // Commands are installed as skills here, and skills are invoked by a mention: `$approve-plan`.
    if let Happening::PromptSubmitted { prompt: text } = &mut event.happening {
        *text = prompt::typed_or_mentioned(std::mem::take(text));
    }
    Some(event)
}

pub(super) fn render(event: &HostEvent, answer: &Answer) -> Option<Value> {
    claude_code::said(event, answer)
}
