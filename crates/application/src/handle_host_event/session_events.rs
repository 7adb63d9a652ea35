//! Session memory, and the start, compaction, stop and end of a session.

use domain::host_event::{HostEvent, StartSource};
use domain::ports::{Snapshot, Transaction};
use domain::session_state::{Conversation, NOTE_KEY_PREFIX, RETENTION_MS};
use domain::time::Timestamp;

use super::{EventContext, EventOutcome, host_sessions, plan_messages, signals, work_gates};
use crate::brief::compose_briefing;
use crate::context::Context;
use crate::coordination::{load_focus_key, record_activity};
use crate::failure::Failure;
use crate::observe::observe_then_read;
use crate::scan::ScanScope;
use crate::session_state::{load_session_state, update_session_state};

/// Loads what the event's conversation knows.
pub(super) fn load_memory(
    state: &dyn Snapshot,
    event: &HostEvent,
) -> Result<Conversation, Failure> {
    Ok(load_session_state(state, &event.session)?.conversation)
}

/// Stores what the conversation knows.
pub(super) fn store_memory(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    memory: &Conversation,
) -> Result<(), Failure> {
    update_session_state(ctx, tx, |session| session.conversation.clone_from(memory))
}

/// Updates the session memory in a transaction of its own.
pub(super) fn update_memory(
    ctx: &Context<'_>,
    event: &HostEvent,
    how: impl FnOnce(&mut Conversation),
) -> Result<(), Failure> {
    let mut tx = ctx.store.begin_write()?;
    // Read inside the transaction: a parallel call of the session may have changed it.
    let mut memory = load_memory(&*tx, event)?;
    how(&mut memory);
    store_memory(ctx, &mut *tx, &memory)?;
    Ok(tx.commit()?)
}

/// Handles a session that starts, resumes, or starts over after `clear` or a compaction.
pub(super) fn handle_start(
    ctx: &Context<'_>,
    event: &HostEvent,
    source: StartSource,
    surroundings: &EventContext<'_>,
) -> Result<EventOutcome, Failure> {
    let faults = surroundings.faults;
    let text = compose_briefing(ctx, faults)?;
    let mut tx = ctx.store.begin_write()?;
    let mut memory = load_memory(&*tx, event)?;
    memory.started = true;
    memory.owed_a_briefing = false;
    match source {
        StartSource::Startup | StartSource::Resume => {}
        // The compacted conversation no longer contains the parents' plans it was given.
        StartSource::Compact => memory.forget_shown_context(),
        StartSource::Clear => {
            memory = Conversation {
                started: true,
                ..Conversation::default()
            }
        }
    }
    // A starting session always gets the briefing, even one it has seen. Registering it as seen
    // only keeps the next prompt from repeating it.
    memory.remember_if_new(&text);
    store_memory(ctx, &mut *tx, &memory)?;
    host_sessions::register_session_within(ctx, &mut *tx, event, surroundings.host_process)?;
    let long_ago = ctx.clock.now().as_millis() - RETENTION_MS;
    tx.delete_notes_before(NOTE_KEY_PREFIX, Timestamp::from_millis(long_ago))?;
    tx.commit()?;
    Ok(EventOutcome {
        faults_told: faults.is_some(),
        ..EventOutcome::with_context(Some(text))
    })
}

/// Handles an imminent compaction: passes a briefing and, where the host accepts one, a prompt.
pub(super) fn handle_compacting(
    ctx: &Context<'_>,
    event: &HostEvent,
) -> Result<EventOutcome, Failure> {
    let prompt = signals::compaction_prompt(ctx)?;
    let text = compose_briefing(ctx, None)?;
    handle_compacted(ctx, event)?;
    let mut handled = EventOutcome::with_context(Some(text));
    handled.reply.compaction_prompt = prompt;
    Ok(handled)
}

/// Handles a finished compaction.
pub(super) fn handle_compacted(
    ctx: &Context<'_>,
    event: &HostEvent,
) -> Result<EventOutcome, Failure> {
    update_memory(ctx, event, |memory| {
        memory.forget_shown_context();
        memory.owed_a_briefing =
            // Hosts that send a start event after a compaction get the briefing there.
            !memory.briefed_this_turn && !event.host.restarts_after_compaction();
    })?;
    Ok(EventOutcome::default())
}

/// Handles the end of a turn: records what background commands changed, for the next prompt.
pub(super) fn handle_stop(
    ctx: &Context<'_>,
    event: &HostEvent,
    again: bool,
) -> Result<EventOutcome, Failure> {
    drop(observe_then_read(ctx, ScanScope::Everything)?);
    let noticed: Vec<String> = ctx
        .take_short_notices()
        .iter()
        .filter_map(plan_messages::render_notice)
        .collect();
    if !noticed.is_empty() {
        update_memory(ctx, event, |memory| memory.untold.extend(noticed))?;
    }
    // The second question of the same stop: blocking again would keep the agent from ever stopping.
    match event.host.needs_stop_follow_up() && !again {
        true => work_gates::follow_up(ctx),
        false => Ok(EventOutcome::default()),
    }
}

/// Records that this session is at work, for the other worktrees.
pub(super) fn record_presence(ctx: &Context<'_>) -> Result<(), Failure> {
    if !ctx.coordination.is_shared() {
        return Ok(());
    }
    let focus = load_focus_key(ctx, &*ctx.store.begin_read()?)?;
    record_activity(ctx, focus.as_ref(), &[]);
    Ok(())
}

/// Handles the end of a session.
pub(super) fn handle_end(
    ctx: &Context<'_>,
    event: &HostEvent,
    surroundings: &EventContext<'_>,
) -> Result<EventOutcome, Failure> {
    let mut tx = ctx.store.begin_write()?;
    store_memory(ctx, &mut *tx, &Conversation::default())?;
    host_sessions::register_session_within(ctx, &mut *tx, event, surroundings.host_process)?;
    crate::uncommitted::release_uncommitted_files(ctx, &mut *tx)?;
    tx.commit()?;
    if ctx.coordination.is_shared() {
        // Errors are ignored: the session counts as live a little longer.
        let _ = ctx.coordination.end_session(&ctx.session);
    }
    Ok(EventOutcome::default())
}
