//! Before a tool runs: may it touch the plans it names?

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

/// Asks the gates about everything the call would change.
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

/// Asks the gates about every plan the call would change.
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
    // A plan changed and the state cannot say so: then nobody can say what may be done.
    if let Some(why) = ctx
        .take_noticed()
        .into_iter()
        .find_map(|noticed| match noticed {
            Noticed::NotRecorded { why } => Some(why),
            // What is recorded of it may not be what would be overwritten.
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
        let node = one.node.as_ref().or(one.parent.as_ref());
        let holder = node
            .map(|node| claim_node::holder(ctx, &*state, node))
            .transpose()?
            .flatten();
        holders.push(holder.map(|(_, claim)| claim.session));
    }
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
        // A person's word counts once, so it must be used up; that a parent's plan is given again harms nobody.
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

/// Notes what the session was given, and uses up the overrides it needed. `false` when another call was faster and used
/// one of them: then nothing is noted.
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

/// Looks at the files above the plans, so that a gate is asked about what is, and finds the nodes.
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
            // The parent may have been written a moment ago.
            (None, None) => Scope::Everything,
        };
        state = observed(ctx, scope)?;
        one = recorded(&*state, &plan.place)?;
        found.push(one);
    }
    Ok((state, found))
}

/// A gate and the path alias of the plan it may be passed for.
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

/// Returns which of these gates a person has let pass, once, for the same plan.
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

/// Under which key a person's word is kept until it is used.
pub(crate) fn override_key(gate: &str, plan: &str) -> String {
    format!("override/{gate}/{plan}")
}
