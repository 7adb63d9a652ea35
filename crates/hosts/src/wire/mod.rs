//! Wire formats of the hosts: parsing of hook payloads and rendering of answers.
//!
//! One file per host defines which of its events are handled and how it is answered; the other
//! files hold what hosts share. Unknown fields and events are ignored, never an error: a failing
//! hook stops the agent's work.

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

use self::answer::HostAnswer;
use self::fields::Fields;
pub use self::salvage::{Salvage, salvage_payload};

/// The payload is not an event of this host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnreadablePayload(pub String);

/// Parses an event. `None` if it is not handled: unknown events pass.
///
/// `event` is the name given on the command line, for hosts whose payload does not contain it.
///
/// # Errors
/// [`Unreadable`] when the bytes are not a JSON object.
pub fn read_event(
    host: Host,
    event: Option<&str>,
    payload: &[u8],
) -> Result<Option<HostEvent>, UnreadablePayload> {
    let fields = Fields::parse_payload(payload)
        .map_err(|error| UnreadablePayload(format!("payload is not a JSON object: {error}")))?;
    // The payload's own name wins. Copilot runs hooks from Claude Code's settings too, where the
    // name is in the payload and not on the command line.
    let Some(name) = fields
        .first_text(&["hook_event_name"])
        .or_else(|| event.map(str::to_owned))
    else {
        return Ok(None);
    };
    Ok(match host {
        Host::ClaudeCode => claude_code::read_event(host, &name, &fields),
        Host::Cursor => cursor::read_event(&name, &fields),
        Host::OpenCode => opencode::read_event(&name, &fields),
        Host::Codex => codex::read_event(&name, &fields),
        Host::Gemini => gemini::read_event(&name, &fields),
        Host::Copilot => copilot::read_event(&name, &fields),
    })
}

/// Renders the answer for the host's standard output; empty if there is nothing to say.
#[must_use]
pub fn render_reply(event: &HostEvent, reply: &Reply) -> String {
    let answer = HostAnswer::from_reply(event, reply);
    // One renderer per host. An answer with the fields of all dialects does not work: Codex rejects
    // any field it does not know and then lets the call pass.
    let said = match event.host {
        Host::ClaudeCode => claude_code::render_answer(event, &answer),
        Host::Cursor => cursor::render_answer(event, &answer),
        Host::OpenCode => opencode::render_answer(event, &answer),
        Host::Codex => codex::render_answer(event, &answer),
        Host::Gemini => gemini::render_answer(event, &answer),
        Host::Copilot => copilot::render_answer(event, &answer),
    };
    said.map(|value| value.to_string()).unwrap_or_default()
}
