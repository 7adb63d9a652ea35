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

/// Registers the session in a transaction of its own, unless it is registered already.
pub(super) fn register_session(
    ctx: &Context<'_>,
    event: &HostEvent,
    process: Option<&ProcessIdentity>,
) -> Result<(), Failure> {
    let Some(process) = process.filter(|_| !event.session.is_empty()) else {
        return Ok(());
    };
    // Nearly always the case; the write lock would be taken before every call of `tl`.
    if updated_note(&*ctx.store.begin_read()?, event, process)?.is_none() {
        return Ok(());
    }
    let mut tx = ctx.store.begin_write()?;
    register_session_within(ctx, &mut *tx, event, Some(process))?;
    Ok(tx.commit()?)
}

/// Registers the session within a running transaction.
pub(super) fn register_session_within(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    event: &HostEvent,
    process: Option<&ProcessIdentity>,
) -> Result<(), Failure> {
    let Some(process) = process.filter(|_| !event.session.is_empty()) else {
        return Ok(());
    };
    if let Some(noted) = updated_note(&*tx, event, process)? {
        let body = serde_json::to_string(&noted).unwrap_or_default();
        let body = (!noted.sessions.is_empty()).then_some(body);
        tx.save_note(&process.note_key(), body.as_deref(), ctx.clock.now())?;
    }
    Ok(())
}

/// Returns the note as it should be, or `None` if it is up to date.
fn updated_note(
    state: &dyn Snapshot,
    event: &HostEvent,
    process: &ProcessIdentity,
) -> Result<Option<HostProcess>, Failure> {
    let before = HostProcess::from_note(state.load_note(&process.note_key())?.as_deref());
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
    Ok((after != before).then_some(after))
}
