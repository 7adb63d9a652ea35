//! Registers which sessions a host process serves, so that a `tl` command started below it finds
//! its own session.
//!
//! One note per host process, not one per project: with a single note, parallel sessions of one
//! host took over each other's focus, claims and intents.

use domain::calling_session::{HostProcess, ProcessIdentity};
use domain::host_event::{Happening, HostEvent};
use domain::ports::{Snapshot, Transaction};

use crate::context::Context;
use crate::failure::Failure;

/// Returns whether an event identifies the session a process serves: its start, its end, or a call
/// of `tl`.
#[must_use]
pub fn identifies_session(event: &HostEvent) -> bool {
    match &event.happening {
        Happening::SessionStarted { .. } | Happening::SessionEnded => true,
        Happening::ToolAboutToRun(call) => call.runs_tl(),
        _ => false,
    }
}

/// Whether an event tells something new about the sessions of its host process.
pub(super) fn needs_registration(
    state: &dyn Snapshot,
    event: &HostEvent,
    process: Option<&ProcessIdentity>,
) -> Result<bool, Failure> {
    // Nearly never: the write lock would be taken before every call of `tl`.
    Ok(updated_note(state, event, process)?.is_some())
}

/// Registers the session of an event within its transaction.
pub(super) fn register_session(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    event: &HostEvent,
    process: Option<&ProcessIdentity>,
) -> Result<(), Failure> {
    if let Some((key, noted)) = updated_note(&*tx, event, process)? {
        let body = serde_json::to_string(&noted).unwrap_or_default();
        let body = (!noted.sessions.is_empty()).then_some(body);
        tx.save_note(&key, body.as_deref(), ctx.clock.now())?;
    }
    Ok(())
}

/// Returns the note as it should be, with its key, or `None` if it is up to date.
fn updated_note(
    state: &dyn Snapshot,
    event: &HostEvent,
    process: Option<&ProcessIdentity>,
) -> Result<Option<(String, HostProcess)>, Failure> {
    let is_named = !event.session.is_empty() && identifies_session(event);
    let Some(process) = process.filter(|_| is_named) else {
        return Ok(None);
    };
    let key = process.note_key();
    let before = HostProcess::from_note(state.load_note(&key)?.as_deref());
    let mut after = before.clone();
    match &event.happening {
        Happening::SessionEnded => after.remove_session(&event.session),
        happening => {
            // A digest of the command tells several sessions of one process apart.
            let command = happening
                .tool_call()
                .and_then(|call| call.command.as_deref());
            after.add_session(event.host.as_str(), &event.session, command);
        }
    }
    Ok((after != before).then_some((key, after)))
}
