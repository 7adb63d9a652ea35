//! Notes which sessions a host's process serves, so that a command that runs below it finds its own.

use domain::caller::{HostProcess, ProcessIdentity};
use domain::host_event::{Happening, HostEvent, ToolCall, ToolKind};
use domain::ports::{Snapshot, Transaction};

use crate::context::Context;
use crate::failure::Failure;

/// Says whether an event tells which session a process serves: its start and end, and a call of ours.
#[must_use]
pub fn names_a_session(event: &HostEvent) -> bool {
    match &event.happening {
        Happening::SessionStarted { .. } | Happening::SessionEnded => true,
        Happening::ToolAboutToRun(call) => calls_us(call),
        _ => false,
    }
}

/// Says whether a call may run a command of ours.
#[must_use]
pub fn calls_us(call: &ToolCall) -> bool {
    let delimited = |text: &str| {
        text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')
            .any(|word| word == "tl")
    };
    call.command.as_deref().is_some_and(delimited)
        || (call.kind == ToolKind::Mcp && call.name.contains("throughline"))
}

/// Notes the session, in a transaction of its own, if that is not noted yet: mostly it is.
pub(super) fn note_session(
    ctx: &Context<'_>,
    event: &HostEvent,
    process: Option<&ProcessIdentity>,
) -> Result<(), Failure> {
    let Some(process) = process.filter(|_| !event.session.is_empty()) else {
        return Ok(());
    };
    if changed(&*ctx.store.read()?, event, process)?.is_none() {
        return Ok(());
    }
    let mut tx = ctx.store.write()?;
    note_session_within(ctx, &mut *tx, event, Some(process))?;
    Ok(tx.commit()?)
}

/// The same within a transaction that is made anyway.
pub(super) fn note_session_within(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    event: &HostEvent,
    process: Option<&ProcessIdentity>,
) -> Result<(), Failure> {
    let Some(process) = process.filter(|_| !event.session.is_empty()) else {
        return Ok(());
    };
    if let Some(noted) = changed(&*tx, event, process)? {
        let body = serde_json::to_string(&noted).unwrap_or_default();
        let body = (!noted.sessions.is_empty()).then_some(body);
        tx.keep_note(&process.key(), body.as_deref(), ctx.clock.now())?;
    }
    Ok(())
}

/// Returns the note as it should be, if it is not so.
fn changed(
    state: &dyn Snapshot,
    event: &HostEvent,
    process: &ProcessIdentity,
) -> Result<Option<HostProcess>, Failure> {
    let before = HostProcess::from_note(state.note(&process.key())?.as_deref());
    let mut after = before.clone();
    match &event.happening {
        Happening::SessionEnded => after.remove(&event.session),
        happening => {
            let command = happening.call().and_then(|call| call.command.as_deref());
            after.add(event.host.word(), &event.session, command);
        }
    }
    Ok((after != before).then_some(after))
}
