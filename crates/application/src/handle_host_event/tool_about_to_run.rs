//! Evaluates the gates before a tool runs: may it change the plans and files it names?

use domain::gates::{self, Doing, Fired, Parent, Step, Verdict};
use domain::host_event::{HostEvent, Reply, ToolCall};
use domain::ids::NodeId;
use domain::ports::{FileLook, Snapshot};
use domain::session_memory::SessionMemory;

use super::hosting::{self, calls_us};
use super::plans::{Recorded, TouchedPlan, recorded};
use super::{Handled, Surroundings, effects, frozen, session, work};
use crate::claim_node;
use crate::context::{Context, Noticed};
use crate::failure::{Failure, FailureKind};
use crate::observe::observed;
use crate::survey::Scope;

/// Evaluates all gates about what the call would change.
pub(super) fn handle(
    ctx: &Context<'_>,
    event: &HostEvent,
    call: &ToolCall,
    surroundings: &Surroundings<'_>,
) -> Result<Handled, Failure> {
    if calls_us(call) {
        hosting::note_session(ctx, event, surroundings.host_process)?;
    }
    let about_plans = about_plans(ctx, event, surroundings.plans)?;
    let about_documents = frozen::before(ctx, surroundings.files)?;
    Ok(about_plans
        .and(about_documents)
        .and(work::before(ctx, event, surroundings.files)?))
}

/// Evaluates the gates for every plan the call would change.
fn about_plans(
    ctx: &Context<'_>,
    event: &HostEvent,
    plans: &[TouchedPlan<'_>],
) -> Result<Handled, Failure> {
    let plans: Vec<&TouchedPlan<'_>> = plans.iter().filter(|plan| plan.effect.changes()).collect();
    if plans.is_empty() {
        return Ok(Handled::default());
    }
    let (state, found) = look(ctx, &plans)?;
    // A change that could not be recorded makes the state unreliable: fail closed, because a gate
    // would decide on the plan as it was before.
    if let Some(why) = ctx
        .take_noticed()
        .into_iter()
        .find_map(|noticed| match noticed {
            Noticed::NotRecorded { why } => Some(why),
            // The recorded text may not be the one that would be overwritten.
            Noticed::Unavailable { path, why } if plans.iter().any(|plan| plan.file == path) => {
                Some(format!("`{path}` cannot be read now: {why}"))
            }
            _ => None,
        })
    {
        return Err(Failure::new(FailureKind::Unavailable, why));
    }
    let memory = session::memory(&*state, event)?;
    let mut holders = Vec::with_capacity(found.len());
    for one in &found {
        // A new file has no claim of its own yet; whoever holds its parent decides.
        let node = one.node.as_ref().or(one.parent.as_ref());
        let holder = node
            .map(|node| claim_node::holder(ctx, &*state, node))
            .transpose()?
            .flatten();
        holders.push(holder.map(|(_, claim)| claim.session));
    }
    // Evaluated without overrides first: their notes are looked up only where a gate blocks, and
    // one that is not needed is not used up.
    let plain = ask(ctx, &memory, &plans, &found, &holders, &[]);
    let used = if plain.blocks.is_empty() {
        Vec::new()
    } else {
        overrides(&*state, &plain.blocks)?
    };
    let verdict = if used.is_empty() {
        plain.clone()
    } else {
        ask(ctx, &memory, &plans, &found, &holders, &used)
    };
    if !verdict.blocks.is_empty() {
        return Ok(blocked(verdict));
    }
    let mut told: Vec<String> = Vec::new();
    if !verdict.warnings.is_empty() {
        told.push(gates::explain(&verdict.warnings));
    }
    let mut given: Vec<NodeId> = Vec::new();
    // Other hosts drop context that comes before a tool; they get it after the call.
    if event.host.hears_before_tools() {
        for parent in found.iter().filter_map(|one| one.parent.as_ref()) {
            if given.contains(&parent.id) {
                continue;
            }
            if let Some(text) = effects::parent_context(&*state, &memory, parent)? {
                told.push(text);
                given.push(parent.id);
            }
        }
    }
    drop(state);
    if !given.is_empty() || !used.is_empty() {
        let kept = note(ctx, event, &found, &given, &used);
        // An override is valid once. If it cannot be marked as used, the call stays blocked; a
        // failed note about the parent's plan only means that it is given again.
        if !used.is_empty() && !kept? {
            return Ok(blocked(plain));
        }
    }
    let context = (!told.is_empty()).then(|| told.join("\n\n"));
    Ok(Handled {
        warned: verdict.warnings,
        ..Handled::saying(context)
    })
}

fn blocked(verdict: Verdict) -> Handled {
    Handled {
        reply: Reply {
            block: Some(gates::explain(&verdict.blocks)),
            ..Reply::default()
        },
        blocked: verdict.blocks,
        warned: verdict.warnings,
        ..Handled::default()
    }
}

/// Records the given parent plans and consumes the overrides.
///
/// Returns `false`, and records nothing, if a parallel call consumed one of them first.
fn note(
    ctx: &Context<'_>,
    event: &HostEvent,
    found: &[Recorded],
    given: &[NodeId],
    used: &[Override],
) -> Result<bool, Failure> {
    let mut tx = ctx.store.write()?;
    for (gate, plan) in used {
        if tx.note(&override_key(gate, plan))?.is_none() {
            return Ok(false);
        }
    }
    let mut memory = session::memory(&*tx, event)?;
    for parent in found
        .iter()
        .filter_map(|one| one.parent.as_ref())
        .filter(|parent| given.contains(&parent.id))
    {
        memory
            .given
            .extend(parent.content.version().map(|version| (parent.id, version)));
    }
    session::remember(ctx, &mut *tx, event, &memory)?;
    for (gate, plan) in used {
        tx.keep_note(&override_key(gate, plan), None, ctx.clock.now())?;
    }
    tx.commit()?;
    Ok(true)
}

/// Scans the files above the plans, so that the gates see their current text, and finds the nodes.
fn look<'s>(
    ctx: &Context<'s>,
    plans: &[&TouchedPlan<'_>],
) -> Result<(Box<dyn Snapshot + 's>, Vec<Recorded>), Failure> {
    let mut state = ctx.store.read()?;
    let mut found = Vec::with_capacity(plans.len());
    for plan in plans {
        let mut one = recorded(&*state, &plan.place)?;
        drop(state);
        let scope = match (&one.node, &one.parent) {
            (Some(node), _) => Scope::Lineage(node.id),
            (None, Some(parent)) => Scope::Lineage(parent.id),
            // The parent itself may have been written a moment ago and be unknown yet.
            (None, None) => Scope::Everything,
        };
        state = observed(ctx, scope)?;
        // Resolved again: the scan may have added the node or its parent.
        one = recorded(&*state, &plan.place)?;
        found.push(one);
    }
    Ok((state, found))
}

/// A gate, and the path alias of the plan it is overridden for.
type Override = (&'static str, String);

fn ask(
    ctx: &Context<'_>,
    memory: &SessionMemory,
    plans: &[&TouchedPlan<'_>],
    found: &[Recorded],
    holders: &[Option<String>],
    overrides: &[Override],
) -> Verdict {
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
    let steps: Vec<Step<'_>> = plans
        .iter()
        .zip(found)
        .zip(&overridden)
        .zip(holders)
        .map(|(((plan, found), overridden), holder)| Step {
            doing: Doing::Changing(&plan.effect),
            place: &plan.place,
            file: &plan.file,
            node: found.node.as_ref(),
            parent: match &found.parent {
                Some(parent) => Parent::Known(parent),
                // A nested path without a recorded parent is an orphan; a path of one alias is a
                // root.
                None if plan.place.aliases.len() > 1 => Parent::Missing,
                None => Parent::None,
            },
            size: match ctx.files.look(&plan.file) {
                FileLook::Present(stamp) => Some(stamp.size),
                FileLook::Missing | FileLook::Refused(_) | FileLook::Unavailable(_) => None,
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
    gates::evaluate(&steps, ctx.policy)
}

/// Returns the overrides that a person granted for these gates and plans.
fn overrides(state: &dyn Snapshot, blocks: &[Fired]) -> Result<Vec<Override>, Failure> {
    let mut found = Vec::new();
    for fired in blocks {
        if state
            .note(&override_key(fired.gate, &fired.plan))?
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
