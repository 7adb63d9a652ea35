//! Evaluates the gates before a tool runs: may it change the plans and files it names?

use domain::gates::{self, FiredGate, GateVerdict, IntendedChange, ParentPlan, PlanStep};
use domain::host_event::{HostEvent, Reply, ToolCall};
use domain::ids::NodeId;
use domain::ports::{FileStatResult, Snapshot};
use domain::session_state::Conversation;

use super::plans::{RecordedPlan, TouchedPlan, find_recorded};
use super::{
    EventContext, EventOutcome, host_sessions, kept_files, plan_messages, session_events,
    work_gates,
};
use crate::claim_node;
use crate::context::{Context, Notice};
use crate::failure::{Failure, FailureKind};
use crate::observe::observe_then_read;
use crate::scan::ScanScope;

/// Evaluates all gates about what the call would change.
pub(super) fn handle_tool_about_to_run(
    ctx: &Context<'_>,
    event: &HostEvent,
    call: &ToolCall,
    surroundings: &EventContext<'_>,
) -> Result<EventOutcome, Failure> {
    if call.runs_tl() {
        host_sessions::register_session(ctx, event, surroundings.host_process)?;
    }
    let about_plans = check_plan_gates(ctx, event, surroundings.plans)?;
    let about_documents = kept_files::check_frozen_files(ctx, surroundings.files)?;
    let about_decisions = kept_files::check_decision_files(ctx, surroundings.files);
    Ok(about_plans
        .merge(about_decisions)
        .merge(about_documents)
        .merge(work_gates::check_work_gates(
            ctx,
            event,
            surroundings.files,
        )?))
}

/// Evaluates the gates for every plan the call would change.
fn check_plan_gates(
    ctx: &Context<'_>,
    event: &HostEvent,
    plans: &[TouchedPlan<'_>],
) -> Result<EventOutcome, Failure> {
    let plans: Vec<&TouchedPlan<'_>> = plans
        .iter()
        .filter(|plan| plan.effect.modifies_file())
        .collect();
    if plans.is_empty() {
        return Ok(EventOutcome::default());
    }
    let (state, found) = scan_and_find(ctx, &plans)?;
    refuse_unreliable_state(ctx, &plans)?;
    let memory = session_events::load_memory(&*state, event)?;
    let mut holders = Vec::with_capacity(found.len());
    for one in &found {
        // A new file has no claim of its own yet; the session that holds its parent decides.
        let node = one.node.as_ref().or(one.parent.as_ref());
        let holder = node
            .map(|node| claim_node::find_holder(ctx, &*state, node))
            .transpose()?
            .flatten();
        holders.push(holder.map(|held| held.describe_holder()));
    }
    // Evaluated without overrides first: their notes are looked up only where a gate blocks, and
    // one that is not needed is not used up.
    let plain = evaluate_gates(ctx, &memory, &plans, &found, &holders, &[]);
    let used = if plain.blocks.is_empty() {
        Vec::new()
    } else {
        find_overrides(&*state, &plain.blocks)?
    };
    let verdict = if used.is_empty() {
        plain.clone()
    } else {
        evaluate_gates(ctx, &memory, &plans, &found, &holders, &used)
    };
    if !verdict.blocks.is_empty() {
        return Ok(block_with_verdict(verdict));
    }
    let mut told: Vec<String> = Vec::new();
    if !verdict.warnings.is_empty() {
        told.push(gates::render_objections(&verdict.warnings));
    }
    let (given, texts) = parent_contexts(&*state, event, &memory, &found)?;
    told.extend(texts);
    drop(state);
    if !given.is_empty() || !used.is_empty() {
        let kept = record_given_and_used(ctx, event, &found, &given, &used);
        // An override is valid once. If it cannot be marked as used, the call stays blocked; a
        // failed note about the parent's plan only means that it is given again.
        if !used.is_empty() && !kept? {
            return Ok(block_with_verdict(plain));
        }
    }
    let context = (!told.is_empty()).then(|| told.join("\n\n"));
    Ok(EventOutcome {
        warned: verdict.warnings,
        ..EventOutcome::with_context(context)
    })
}

/// Fails closed where a change could not be recorded: a gate would decide on the plan as it was
/// before.
fn refuse_unreliable_state(ctx: &Context<'_>, plans: &[&TouchedPlan<'_>]) -> Result<(), Failure> {
    let why = ctx
        .take_notices()
        .into_iter()
        .find_map(|noticed| match noticed {
            Notice::NotRecorded { why } => Some(why),
            // The recorded text may not be the one that would be overwritten.
            Notice::Unavailable { path, why } if plans.iter().any(|plan| plan.file == path) => {
                Some(format!("`{path}` cannot be read now: {why}"))
            }
            _ => None,
        });
    match why {
        Some(why) => Err(Failure::new(FailureKind::Unavailable, why)),
        None => Ok(()),
    }
}

/// Returns the parents' plans that the session has not been given yet, each once.
fn parent_contexts(
    state: &dyn Snapshot,
    event: &HostEvent,
    memory: &Conversation,
    found: &[RecordedPlan],
) -> Result<(Vec<NodeId>, Vec<String>), Failure> {
    let (mut given, mut texts) = (Vec::new(), Vec::new());
    // Other hosts drop context that comes before a tool; they get it after the call.
    if !event.host.accepts_context_before_tools() {
        return Ok((given, texts));
    }
    for parent in found.iter().filter_map(|one| one.parent.as_ref()) {
        if given.contains(&parent.id) {
            continue;
        }
        if let Some(text) = plan_messages::parent_plan_context(state, memory, parent)? {
            texts.push(text);
            given.push(parent.id);
        }
    }
    Ok((given, texts))
}

fn block_with_verdict(verdict: GateVerdict) -> EventOutcome {
    EventOutcome {
        reply: Reply {
            block: Some(gates::render_objections(&verdict.blocks)),
            ..Reply::default()
        },
        blocked: verdict.blocks,
        warned: verdict.warnings,
        ..EventOutcome::default()
    }
}

/// Records the given parent plans and consumes the overrides.
///
/// Returns `false`, and records nothing, if a parallel call consumed one of them first.
fn record_given_and_used(
    ctx: &Context<'_>,
    event: &HostEvent,
    found: &[RecordedPlan],
    given: &[NodeId],
    used: &[Override],
) -> Result<bool, Failure> {
    let mut tx = ctx.store.begin_write()?;
    for (gate, plan) in used {
        if tx.load_note(&override_key(gate, plan))?.is_none() {
            return Ok(false);
        }
    }
    let mut memory = session_events::load_memory(&*tx, event)?;
    for parent in found
        .iter()
        .filter_map(|one| one.parent.as_ref())
        .filter(|parent| given.contains(&parent.id))
    {
        memory.given.extend(
            parent
                .content
                .version_hash()
                .map(|version| (parent.id, version)),
        );
    }
    session_events::store_memory(ctx, &mut *tx, &memory)?;
    for (gate, plan) in used {
        tx.save_note(&override_key(gate, plan), None, ctx.clock.now())?;
    }
    tx.commit()?;
    Ok(true)
}

/// Scans the files above the plans, so that the gates see their current text, and finds the nodes.
fn scan_and_find<'s>(
    ctx: &Context<'s>,
    plans: &[&TouchedPlan<'_>],
) -> Result<(Box<dyn Snapshot + 's>, Vec<RecordedPlan>), Failure> {
    let mut state = ctx.store.begin_read()?;
    let mut found = Vec::with_capacity(plans.len());
    for plan in plans {
        let mut one = find_recorded(&*state, &plan.place)?;
        drop(state);
        let scope = match (&one.node, &one.parent) {
            (Some(node), _) => ScanScope::Lineage(node.id),
            (None, Some(parent)) => ScanScope::Lineage(parent.id),
            // The parent itself may have been written a moment ago and be unknown yet.
            (None, None) => ScanScope::Everything,
        };
        state = observe_then_read(ctx, scope)?;
        // Resolved again: the scan may have added the node or its parent.
        one = find_recorded(&*state, &plan.place)?;
        found.push(one);
    }
    Ok((state, found))
}

/// A gate, and the path alias of the plan it is overridden for.
type Override = (&'static str, String);

fn evaluate_gates(
    ctx: &Context<'_>,
    memory: &Conversation,
    plans: &[&TouchedPlan<'_>],
    found: &[RecordedPlan],
    holders: &[Option<String>],
    overrides: &[Override],
) -> GateVerdict {
    let overridden: Vec<Vec<String>> = plans
        .iter()
        .map(|plan| {
            let alias = plan.place.path_alias();
            overrides
                .iter()
                .filter(|(_, plan)| *plan == alias)
                .map(|(gate, _)| (*gate).to_owned())
                .collect()
        })
        .collect();
    let steps: Vec<PlanStep<'_>> = plans
        .iter()
        .zip(found)
        .zip(&overridden)
        .zip(holders)
        .map(|(((plan, found), overridden), holder)| PlanStep {
            doing: IntendedChange::Changing(&plan.effect),
            place: &plan.place,
            file: &plan.file,
            node: found.node.as_ref(),
            parent: match &found.parent {
                Some(parent) => ParentPlan::Known(parent),
                // A nested path without a recorded parent is an orphan; a path of one alias is a
                // root.
                None if plan.place.aliases.len() > 1 => ParentPlan::Missing,
                None => ParentPlan::None,
            },
            size: match ctx.files.stat_file(&plan.file) {
                FileStatResult::Present(stamp) => Some(stamp.size),
                FileStatResult::Missing
                | FileStatResult::Refused(_)
                | FileStatResult::Unavailable(_) => None,
            },
            read: found
                .node
                .as_ref()
                .and_then(|node| memory.read.get(&node.id))
                .copied(),
            session_is_known: memory.started,
            claimed_by: holder.as_deref(),
            overridden,
        })
        .collect();
    gates::evaluate_plans(&steps, ctx.policy)
}

/// Returns the overrides that a person granted for these gates and plans.
fn find_overrides(state: &dyn Snapshot, blocks: &[FiredGate]) -> Result<Vec<Override>, Failure> {
    let mut found = Vec::new();
    for fired in blocks {
        if state
            .load_note(&override_key(fired.gate, &fired.plan))?
            .is_some()
        {
            found.push((fired.gate, fired.plan.clone()));
        }
    }
    Ok(found)
}

/// Returns the note key of an unused override.
pub(crate) fn override_key(gate: &str, plan: &str) -> String {
    format!("override/{gate}/{plan}")
}
