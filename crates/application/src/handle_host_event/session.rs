//! Session memory, and the start, compaction, stop and end of a session.

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

/// Loads the memory of the event's session.
pub(super) fn memory(state: &dyn Snapshot, event: &HostEvent) -> Result<SessionMemory, Failure> {
    let note = state.note(&SessionMemory::key(event.host, &event.session))?;
    // A note that another version wrote counts as lost. The session then reads its plans again,
    // which is cheaper than an error that stops the agent.
    Ok(note
        .and_then(|body| serde_json::from_str(&body).ok())
        .unwrap_or_default())
}

/// Stores the session memory.
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

/// Updates the session memory in a transaction of its own.
pub(super) fn change(
    ctx: &Context<'_>,
    event: &HostEvent,
    how: impl FnOnce(&mut SessionMemory),
) -> Result<(), Failure> {
    let mut tx = ctx.store.write()?;
    // Read inside the transaction: a parallel call of the session may have changed it.
    let mut memory = memory(&*tx, event)?;
    how(&mut memory);
    remember(ctx, &mut *tx, event, &memory)?;
    Ok(tx.commit()?)
}

/// Handles a session that starts, resumes, or starts over after `clear` or a compaction.
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
        // The compacted conversation no longer contains the parents' plans it was given.
        StartSource::Compact => memory.forget_what_was_shown(),
        StartSource::Clear => {
            memory = SessionMemory {
                started: true,
                ..SessionMemory::default()
            }
        }
    }
    // A starting session always gets the briefing, even one it has seen. Registering it as seen
    // only keeps the next prompt from repeating it.
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

/// Handles an imminent compaction: passes a briefing and, where the host accepts one, a prompt.
pub(super) fn compacting(ctx: &Context<'_>, event: &HostEvent) -> Result<Handled, Failure> {
    let prompt = signals::compacting(ctx)?;
    let text = brief(ctx, None)?;
    compacted(ctx, event)?;
    let mut handled = Handled::saying(Some(text));
    handled.reply.compaction_prompt = prompt;
    Ok(handled)
}

/// Handles a finished compaction.
pub(super) fn compacted(ctx: &Context<'_>, event: &HostEvent) -> Result<Handled, Failure> {
    change(ctx, event, |memory| {
        memory.forget_what_was_shown();
        memory.owed_a_briefing =
            // Hosts that send a start event after a compaction get the briefing there.
            !memory.briefed_this_turn && !event.host.starts_again_after_compaction();
    })?;
    Ok(Handled::default())
}

/// Handles the end of a turn: records what background commands changed, for the next prompt.
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
    // The second question of the same stop: blocking again would keep the agent from ever stopping.
    match event.host.follows_up() && !again {
        true => work::follow_up(ctx),
        false => Ok(Handled::default()),
    }
}

/// Handles the end of a session.
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
