//! Handles a finished tool call: records what changed and reports the consequences to the agent.

use domain::host_event::{Effect, HostEvent, ToolCall};
use domain::ids::{NodeId, OperationId};
use domain::ports::Transaction;

use super::plans::{TouchedPlan, recorded};
use super::{Handled, Surroundings, effects, session, work};
use crate::brief::brief;
use crate::context::Context;
use crate::failure::Failure;
use crate::observe::observe_within;
use crate::survey::{Scope, survey};

/// Records the changes with their cascade, and returns what the agent should know.
pub(super) fn handle(
    ctx: &Context<'_>,
    event: &HostEvent,
    call: &ToolCall,
    failed: bool,
    surroundings: &Surroundings<'_>,
) -> Result<Handled, Failure> {
    let (plans, files) = (surroundings.plans, surroundings.files);
    let works = work::has_gates(ctx) && (!files.is_empty() || call.may_change_anything());
    let anything = call.may_change_anything();
    let concerns_us = !plans.is_empty()
        || works
        || (anything && something_to_do(ctx, event)?)
        || owes_a_briefing(ctx, event, call)?;
    // The usual end of a hook: no write lock, no note.
    if !concerns_us {
        return Ok(Handled::default());
    }
    let mut tx = ctx.store.write()?;
    let mut operations: Vec<OperationId> = Vec::new();
    if anything {
        // A shell command may have changed any plan. Where files are named, their lineage is
        // enough.
        operations.extend(observe_within(ctx, &mut *tx, Scope::Everything)?);
    } else {
        for plan in plans {
            let scope = scope_of(&*tx, plan)?;
            operations.extend(observe_within(ctx, &mut *tx, scope)?);
        }
    }
    let mut memory = session::memory(&*tx, event)?;
    let mut touched: Vec<NodeId> = Vec::new();
    let mut told: Vec<String> = Vec::new();
    for plan in plans {
        let found = recorded(&*tx, &plan.place)?;
        let Some(node) = &found.node else { continue };
        // A session that wrote a text knows it as well as one that read it.
        if let (Some(version), false) = (node.content.version(), failed) {
            memory.read.insert(node.id, version);
        }
        if plan.effect == Effect::Read || touched.contains(&node.id) {
            continue;
        }
        touched.push(node.id);
        if let (Some(parent), false) = (&found.parent, event.host.hears_before_tools())
            && let Some(text) = effects::parent_context(&*tx, &memory, parent)?
        {
            memory
                .given
                .extend(parent.content.version().map(|version| (parent.id, version)));
            told.push(text);
        }
    }
    if works || !plans.is_empty() {
        told.extend(work::after(ctx, &mut *tx, call, files)?);
    }
    let news = effects::tell(ctx, &*tx, &operations, &touched, &mut memory)?;
    if let Some(news) = news.filter(|news| memory.is_news(news)) {
        told.insert(0, news);
    }
    let owed = std::mem::take(&mut memory.owed_a_briefing);
    memory.briefed_this_turn |= owed;
    session::remember(ctx, &mut *tx, event, &memory)?;
    tx.commit()?;
    if owed {
        told.push(brief(ctx, None)?);
    }
    Ok(Handled::saying(
        (!told.is_empty()).then(|| told.join("\n\n")),
    ))
}

/// Returns whether a briefing lost in a compaction is due. Read-only commands deliver it too.
fn owes_a_briefing(ctx: &Context<'_>, event: &HostEvent, call: &ToolCall) -> Result<bool, Failure> {
    // Only with commands, so that the other calls need not open the store for it.
    Ok(call.command.is_some()
        && !event.host.starts_again_after_compaction()
        && session::memory(&*ctx.store.read()?, event)?.owed_a_briefing)
}

/// Scans every plan file without the write lock, and returns whether anything changed.
fn something_to_do(ctx: &Context<'_>, event: &HostEvent) -> Result<bool, Failure> {
    let state = ctx.store.read()?;
    if session::memory(&*state, event)?.owed_a_briefing {
        return Ok(true);
    }
    // The result is thrown away, so any node number that no real node has will do.
    Ok(!survey(ctx, &*state, Scope::Everything, NodeId(u32::MAX / 2))?.shows_nothing())
}

/// Returns the smallest scan scope that shows what happened to a plan.
fn scope_of(tx: &dyn Transaction, plan: &TouchedPlan<'_>) -> Result<Scope, Failure> {
    let found = recorded(tx, &plan.place)?;
    Ok(match (found.node, found.parent) {
        (Some(node), _) => Scope::Lineage(node.id),
        (None, Some(parent)) => Scope::Lineage(parent.id),
        (None, None) => Scope::Everything,
    })
}
