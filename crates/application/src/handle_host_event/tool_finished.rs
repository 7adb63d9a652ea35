//! Handles a finished tool call: records what changed and reports the consequences to the agent.

use domain::host_event::{FileEffect, HostEvent, ToolCall};
use domain::ids::{NodeId, OperationId};
use domain::ports::{Snapshot, Transaction};
use domain::session_state::Conversation;

use super::plans::{TouchedPlan, find_recorded};
use super::{EventContext, EventOutcome, overlaps, plan_messages, session_events, work_gates};
use crate::brief::compose_briefing;
use crate::context::Context;
use crate::coordination::{load_focus_key, record_activity};
use crate::failure::Failure;
use crate::observe::{observe_then_read, observe_within};
use crate::scan::{ScanScope, scan_plan_files};
use crate::working_copy::is_state_shared;

/// Records the changes with their cascade, and returns what the agent should know.
pub(super) fn handle_tool_finished(
    ctx: &Context<'_>,
    event: &HostEvent,
    call: &ToolCall,
    failed: bool,
    surroundings: &EventContext<'_>,
) -> Result<EventOutcome, Failure> {
    let (plans, files) = (surroundings.plans, surroundings.files);
    let works =
        work_gates::has_work_gates(ctx) && (!files.is_empty() || call.may_change_anything());
    let anything = call.may_change_anything();
    let concerns_us = !plans.is_empty()
        || works
        || (anything && has_unrecorded_changes(ctx, event)?)
        || is_briefing_due(ctx, event, call)?;
    // The usual end of a hook: no write lock, no note.
    if !concerns_us {
        return Ok(EventOutcome::default());
    }
    let mut tx = ctx.store.begin_write()?;
    if is_state_shared(ctx, &*tx)? {
        drop(tx);
        return finish_on_shared_state(ctx, event, call, failed, surroundings);
    }
    let mut operations: Vec<OperationId> = Vec::new();
    if anything {
        // A shell command may have changed any plan. Where files are named, their lineage is
        // enough.
        operations.extend(observe_within(ctx, &mut *tx, ScanScope::Everything)?);
    } else {
        for plan in plans {
            let scope = scan_scope_of(&*tx, plan)?;
            operations.extend(observe_within(ctx, &mut *tx, scope)?);
        }
    }
    let mut memory = session_events::load_memory(&*tx, event)?;
    let (touched, mut told) = remember_plans(&*tx, event, plans, failed, &mut memory)?;
    if works || !plans.is_empty() {
        told.extend(work_gates::record_finished_call(
            ctx, &mut *tx, call, files,
        )?);
    }
    let news = plan_messages::describe_operations(ctx, &*tx, &operations, &touched, &mut memory)?;
    if let Some(news) = news.filter(|news| memory.remember_if_new(news)) {
        told.insert(0, news);
    }
    let changed = match failed {
        true => Vec::new(),
        false => overlaps::changed_files(surroundings),
    };
    finish_turn(ctx, tx, memory, told, &changed)
}

/// The same on a state that other working copies share: the changes are laid over it for these
/// messages, and not recorded.
fn finish_on_shared_state(
    ctx: &Context<'_>,
    event: &HostEvent,
    call: &ToolCall,
    failed: bool,
    surroundings: &EventContext<'_>,
) -> Result<EventOutcome, Failure> {
    let (plans, files) = (surroundings.plans, surroundings.files);
    let scope = match plans {
        [plan] if !call.may_change_anything() => scan_scope_of(&*ctx.store.begin_read()?, plan)?,
        _ => ScanScope::Everything,
    };
    let state = observe_then_read(ctx, scope)?;
    let mut memory = session_events::load_memory(&*state, event)?;
    let (touched, mut told) = remember_plans(&*state, event, plans, failed, &mut memory)?;
    // The overlay's own operation follows the last one of the state.
    let own = state.last_operation_id()?.next_id();
    let news = plan_messages::describe_operations(ctx, &*state, &[own], &touched, &mut memory)?;
    if let Some(news) = news.filter(|news| memory.remember_if_new(news)) {
        told.insert(0, news);
    }
    drop(state);
    let mut tx = ctx.store.begin_write()?;
    told.extend(work_gates::record_finished_call(
        ctx, &mut *tx, call, files,
    )?);
    let changed = match failed {
        true => Vec::new(),
        false => overlaps::changed_files(surroundings),
    };
    finish_turn(ctx, tx, memory, told, &changed)
}

/// Remembers the versions of these plans, and returns those that were written, with the parents'
/// texts where the host could not be given them before.
fn remember_plans(
    state: &dyn Snapshot,
    event: &HostEvent,
    plans: &[TouchedPlan<'_>],
    failed: bool,
    memory: &mut Conversation,
) -> Result<(Vec<NodeId>, Vec<String>), Failure> {
    let mut touched: Vec<NodeId> = Vec::new();
    let mut told: Vec<String> = Vec::new();
    for plan in plans {
        let found = find_recorded(state, &plan.place)?;
        let Some(node) = &found.node else { continue };
        // A session that wrote a text knows it as well as one that read it.
        if let (Some(version), false) = (node.content.version_hash(), failed) {
            memory.read.insert(node.id, version);
        }
        if plan.effect == FileEffect::Read || touched.contains(&node.id) {
            continue;
        }
        touched.push(node.id);
        if let (Some(parent), false) = (&found.parent, event.host.accepts_context_before_tools())
            && let Some(text) = plan_messages::parent_plan_context(state, memory, parent)?
        {
            let version = parent.content.version_hash();
            memory
                .given
                .extend(version.map(|version| (parent.id, version)));
            told.push(text);
        }
    }
    Ok((touched, told))
}

/// Stores the memory and returns the messages, with a briefing that is due.
fn finish_turn(
    ctx: &Context<'_>,
    mut tx: Box<dyn Transaction + '_>,
    mut memory: Conversation,
    mut told: Vec<String>,
    changed: &[String],
) -> Result<EventOutcome, Failure> {
    let owed = std::mem::take(&mut memory.owed_a_briefing);
    memory.briefed_this_turn |= owed;
    session_events::store_memory(ctx, &mut *tx, &memory)?;
    let focus = load_focus_key(ctx, &*tx)?;
    tx.commit()?;
    // After the commit: the write lock of the state is not held while waiting for another one.
    record_activity(ctx, focus.as_ref(), changed);
    if owed {
        told.push(compose_briefing(ctx, None)?);
    }
    Ok(EventOutcome::with_context(
        (!told.is_empty()).then(|| told.join("\n\n")),
    ))
}

/// Returns whether a briefing lost in a compaction is due. Read-only commands deliver it too.
fn is_briefing_due(ctx: &Context<'_>, event: &HostEvent, call: &ToolCall) -> Result<bool, Failure> {
    // Only with commands, so that the other calls need not open the store for it.
    Ok(call.command.is_some()
        && !event.host.restarts_after_compaction()
        && session_events::load_memory(&*ctx.store.begin_read()?, event)?.owed_a_briefing)
}

/// Scans every plan file without the write lock, and returns whether anything changed.
fn has_unrecorded_changes(ctx: &Context<'_>, event: &HostEvent) -> Result<bool, Failure> {
    let state = ctx.store.begin_read()?;
    if session_events::load_memory(&*state, event)?.owed_a_briefing {
        return Ok(true);
    }
    // The result is thrown away, so any node number that no real node has will do.
    Ok(!scan_plan_files(ctx, &*state, ScanScope::Everything, NodeId(u32::MAX / 2))?.is_unchanged())
}

/// Returns the smallest scan scope that shows what happened to a plan.
fn scan_scope_of(state: &dyn Snapshot, plan: &TouchedPlan<'_>) -> Result<ScanScope, Failure> {
    let found = find_recorded(state, &plan.place)?;
    Ok(match (found.node, found.parent) {
        (Some(node), _) => ScanScope::Lineage(node.id),
        (None, Some(parent)) => ScanScope::Lineage(parent.id),
        (None, None) => ScanScope::Everything,
    })
}
