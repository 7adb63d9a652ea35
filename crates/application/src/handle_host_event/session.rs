//! What is remembered of a session, and its beginning and end.

use domain::host_event::{HostEvent, StartSource};
use domain::ports::{Snapshot, Transaction};
use domain::session_memory::{KEPT_FOR_MS, PREFIX, SessionMemory};
use domain::time::Timestamp;

use super::{Handled, Surroundings, effects, hosting, signals, work};
use crate::brief::brief;
use crate::context::Context;
use crate::failure::Failure;
use crate::observe::observed;
use crate::survey::Scope;

/// Returns what is remembered of the event's session.
pub(super) fn memory(state: &dyn Snapshot, event: &HostEvent) -> Result<SessionMemory, Failure> {
    let note = state.note(&SessionMemory::key(event.host, &event.session))?;
    // A note of another version of this program is a note that was lost.
    Ok(note
        .and_then(|body| serde_json::from_str(&body).ok())
        .unwrap_or_default())
}

/// Keeps what is remembered.
pub(super) fn remember(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    event: &HostEvent,
    memory: &SessionMemory,
) -> Result<(), Failure> {
    let body = serde_json::to_string(memory).unwrap_or_default();
    Ok(tx.keep_note(
        &SessionMemory::key(event.host, &event.session),
        Some(&body),
        ctx.clock.now(),
    )?)
}

/// Changes what is remembered, in a transaction of its own.
pub(super) fn change(
    ctx: &Context<'_>,
    event: &HostEvent,
    how: impl FnOnce(&mut SessionMemory),
) -> Result<(), Failure> {
    let mut tx = ctx.store.write()?;
    let mut memory = memory(&*tx, event)?;
    how(&mut memory);
    remember(ctx, &mut *tx, event, &memory)?;
    Ok(tx.commit()?)
}

/// A session starts, goes on after a break, or begins anew after `clear` or a compaction.
pub(super) fn started(
    ctx: &Context<'_>,
    event: &HostEvent,
    source: StartSource,
    surroundings: &Surroundings<'_>,
) -> Result<Handled, Failure> {
    let faults = surroundings.faults;
    let text = brief(ctx, faults)?;
    let mut tx = ctx.store.write()?;
    let mut memory = memory(&*tx, event)?;
    memory.started = true;
    memory.owed_a_briefing = false;
    match source {
        StartSource::Startup | StartSource::Resume => {}
        StartSource::Compact => memory.forget_what_was_shown(),
        StartSource::Clear => {
            memory = SessionMemory {
                started: true,
                ..SessionMemory::default()
            }
        }
    }
    // Told or not, a session that starts is told where it stands; the next one must not repeat it.
    memory.is_news(&text);
    remember(ctx, &mut *tx, event, &memory)?;
    hosting::note_session_within(ctx, &mut *tx, event, surroundings.host_process)?;
    let long_ago = ctx.clock.now().as_millis() - KEPT_FOR_MS;
    tx.forget_notes(PREFIX, Timestamp::from_millis(long_ago))?;
    tx.commit()?;
    Ok(Handled {
        faults_told: faults.is_some(),
        ..Handled::saying(Some(text))
    })
}

/// The conversation is about to be compacted: what is worth keeping goes along, where the host takes it.
pub(super) fn compacting(ctx: &Context<'_>, event: &HostEvent) -> Result<Handled, Failure> {
    let prompt = signals::compacting(ctx)?;
    let text = brief(ctx, None)?;
    compacted(ctx, event)?;
    let mut handled = Handled::saying(Some(text));
    handled.reply.compaction_prompt = prompt;
    Ok(handled)
}

/// The conversation was compacted.
pub(super) fn compacted(ctx: &Context<'_>, event: &HostEvent) -> Result<Handled, Failure> {
    change(ctx, event, |memory| {
        memory.forget_what_was_shown();
        memory.owed_a_briefing =
            !memory.briefed_this_turn && !event.host.starts_again_after_compaction();
    })?;
    Ok(Handled::default())
}

/// The turn is over: what a command in the background did is noticed, and told at the next prompt.
pub(super) fn stopping(
    ctx: &Context<'_>,
    event: &HostEvent,
    again: bool,
) -> Result<Handled, Failure> {
    drop(observed(ctx, Scope::Everything)?);
    let noticed: Vec<String> = ctx
        .take_noticed_in_short()
        .iter()
        .filter_map(effects::in_words)
        .collect();
    if !noticed.is_empty() {
        change(ctx, event, |memory| memory.untold.extend(noticed))?;
    }
    // A host that asks again was told already: an agent must be able to stop.
    match event.host.follows_up() && !again {
        true => work::follow_up(ctx),
        false => Ok(Handled::default()),
    }
}

/// The session is over.
pub(super) fn ended(
    ctx: &Context<'_>,
    event: &HostEvent,
    surroundings: &Surroundings<'_>,
) -> Result<Handled, Failure> {
    let mut tx = ctx.store.write()?;
    tx.keep_note(
        &SessionMemory::key(event.host, &event.session),
        None,
        ctx.clock.now(),
    )?;
    hosting::note_session_within(ctx, &mut *tx, event, surroundings.host_process)?;
    tx.commit()?;
    Ok(Handled::default())
}
