//! Wire formats of the hosts: parsing of hook payloads and rendering of answers.
//!
//! `wire.rs` in a host's folder defines which of its events are handled and how it is answered; the
//! files here hold what hosts share. Unknown fields and events are ignored, never an error: a failing
//! hook stops the agent's work.

pub(crate) mod answer;
pub(crate) mod envelope;
pub(crate) mod fields;
mod patch;
pub(crate) mod prompt;
mod salvage;
pub(crate) mod tools;
mod touches;

use domain::host_event::{Host, HostEvent, Reply};

use self::answer::HostAnswer;
use self::fields::Fields;
pub use self::salvage::{Salvage, salvage_payload};
use crate::host_spec;

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
    Ok((host_spec(host).read_event)(&name, &fields))
}

/// Renders the answer for the host's standard output; empty if there is nothing to say.
#[must_use]
pub fn render_reply(event: &HostEvent, reply: &Reply) -> String {
    let answer = HostAnswer::from_reply(event, reply);
    // One renderer per host. An answer with the fields of all dialects does not work: Codex rejects
    // any field it does not know and then lets the call pass.
    let said = (host_spec(event.host).render_answer)(event, &answer);
    said.map(|value| value.to_string()).unwrap_or_default()
}
