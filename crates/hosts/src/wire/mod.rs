//! Hook payloads of each host, and the answers each understands.
//!
//! One file per host says which of its events are ours and how it wants to be answered; the others hold what
//! hosts share. Whatever a host adds or changes is passed over, never an error: a hook that fails stops work.

mod answer;
mod claude_code;
mod codex;
mod copilot;
mod cursor;
mod envelope;
mod fields;
mod gemini;
mod opencode;
mod patch;
mod prompt;
mod salvage;
mod tools;
mod touches;

use domain::host_event::{Host, HostEvent, Reply};

use self::answer::Answer;
use self::fields::Fields;
pub use self::salvage::{Salvage, salvage};

/// A payload that cannot be an event of this host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(pub String);

/// Reads an event. `None` when it is none of ours: unknown events pass.
///
/// `event` is the name given on the command line, for hosts whose payload does not carry it.
///
/// # Errors
/// [`Unreadable`] when the bytes are no JSON object.
pub fn read(
    host: Host,
    event: Option<&str>,
    payload: &[u8],
) -> Result<Option<HostEvent>, Unreadable> {
    let fields = Fields::parse(payload)
        .map_err(|error| Unreadable(format!("payload is no JSON object: {error}")))?;
    let Some(name) = fields
        .text(&["hook_event_name"])
        .or_else(|| event.map(str::to_owned))
    else {
        return Ok(None);
    };
    Ok(match host {
        Host::ClaudeCode => claude_code::read(host, &name, &fields),
        Host::Cursor => cursor::read(&name, &fields),
        Host::OpenCode => opencode::read(&name, &fields),
        Host::Codex => codex::read(&name, &fields),
        Host::Gemini => gemini::read(&name, &fields),
        Host::Copilot => copilot::read(&name, &fields),
    })
}

/// Returns what the host is to read on our standard output; empty when there is nothing to say.
#[must_use]
pub fn render(event: &HostEvent, reply: &Reply) -> String {
    let answer = Answer::of(event, reply);
    let said = match event.host {
        Host::ClaudeCode => claude_code::render(event, &answer),
        Host::Cursor => cursor::render(event, &answer),
        Host::OpenCode => opencode::render(event, &answer),
        Host::Codex => codex::render(event, &answer),
        Host::Gemini => gemini::render(event, &answer),
        Host::Copilot => copilot::render(event, &answer),
    };
    said.map(|value| value.to_string()).unwrap_or_default()
}
