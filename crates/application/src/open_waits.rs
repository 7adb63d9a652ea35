//! Reports that a session waits for a decision, and that its wait ended, for the inbox and the cards.

use domain::calling_session::TERMINAL_SESSION_PREFIX;
use domain::ids::{NodeId, Principal};
use domain::open_wait::{OPEN_WAITS_KEY, OpenWait, OpenWaits};
use domain::ports::Snapshot;
use domain::time::Timestamp;

use crate::context::Context;
use crate::failure::Failure;
use crate::locate::find_node;
use crate::poll_decision::{WaitRequest, WaitView, poll_decision};

/// Looks once whether a wait is over, and reports it as open or ended.
///
/// # Errors
/// As [`poll_decision`]. A wait that cannot be reported, as on a read-only disk, goes on unreported.
pub fn poll_open_wait(ctx: &Context<'_>, request: &WaitRequest) -> Result<WaitView, Failure> {
    let view = poll_decision(ctx, request)?;
    let change = if view.done {
        WaitChange::End
    } else {
        WaitChange::Report
    };
    let _ = record_wait(ctx, request, change);
    Ok(view)
}

/// Reports that a wait ended without a decision: its time was up, or the client gave up.
pub fn end_open_wait(ctx: &Context<'_>, request: &WaitRequest) {
    let _ = record_wait(ctx, request, WaitChange::End);
}

/// Returns the waits that are open now, oldest first.
pub(crate) fn list_open_waits(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Vec<OpenWait>, Failure> {
    let now = ctx.clock.now();
    let waits = OpenWaits::from_note(state.load_note(OPEN_WAITS_KEY)?.as_deref());
    Ok(waits.list_live(now).cloned().collect())
}

#[derive(Clone, Copy)]
enum WaitChange {
    Report,
    End,
}

fn record_wait(
    ctx: &Context<'_>,
    request: &WaitRequest,
    change: WaitChange,
) -> Result<(), Failure> {
    // A person who waits at a terminal decides somewhere else and holds up no agent.
    if matches!(ctx.actor, Principal::Human(_)) && ctx.session.starts_with(TERMINAL_SESSION_PREFIX)
    {
        return Ok(());
    }
    let state = ctx.store.begin_read()?;
    let (node, _) = find_node(ctx, &*state, &request.node)?;
    let now = ctx.clock.now();
    // Most polls find nothing to write: the write lock would be taken every two seconds.
    if change_waits(ctx, &*state, node, change, now)?.is_none() {
        return Ok(());
    }
    drop(state);
    let mut tx = ctx.store.begin_write()?;
    if let Some(waits) = change_waits(ctx, &*tx, node, change, now)? {
        tx.save_note(OPEN_WAITS_KEY, waits.to_note().as_deref(), now)?;
        tx.commit()?;
    }
    Ok(())
}

/// Returns the waits as they should be; `None` if nothing is to be changed.
fn change_waits(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: NodeId,
    change: WaitChange,
    now: Timestamp,
) -> Result<Option<OpenWaits>, Failure> {
    let mut waits = OpenWaits::from_note(state.load_note(OPEN_WAITS_KEY)?.as_deref());
    let host = match &ctx.actor {
        Principal::Agent { host, .. } => host.as_str(),
        _ => "",
    };
    let is_changed = match change {
        WaitChange::Report => waits.report_wait(host, &ctx.session, node, now),
        WaitChange::End => waits.end_wait(&ctx.session, node),
    };
    Ok(is_changed.then_some(waits))
}
