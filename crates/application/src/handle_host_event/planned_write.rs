//! Evaluates the gates for a write of a plan that Throughline itself carries out, as for an agent's
//! edit of the file: for the tick loop, and for clients without access to the files.

use domain::gates::{Event, FiredGate, GateVerdict, IntendedChange, ParentPlan, PlanStep};
use domain::host_event::FileEffect;
use domain::node::Node;
use domain::ports::{FileStatResult, Snapshot, Transaction};
use domain::profile::PlanPlace;

use super::gather::{evaluate_with_overrides, override_key};
use super::plans::find_recorded;
use crate::claim_node;
use crate::context::Context;
use crate::failure::Failure;
use crate::session_state::load_session_state;

/// A write of a plan. The writer has read the text it replaces.
pub(crate) struct PlannedWrite<'w> {
    pub(crate) file: &'w str,
    pub(crate) place: &'w PlanPlace<'w>,
    pub(crate) effect: &'w FileEffect,
}

/// Evaluates every gate about a write, with the overrides that people granted.
pub(crate) fn evaluate_write(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    write: &PlannedWrite<'_>,
) -> Result<GateVerdict, Failure> {
    let found = find_recorded(state, write.place)?;
    // A new file has no claim of its own yet; the session that holds its parent decides.
    let above = found.node.as_ref().or(found.parent.as_ref());
    let holder = above
        .map(|node| claim_node::find_holder(ctx, state, node))
        .transpose()?
        .flatten()
        .map(|held| held.describe_holder());
    let size = match ctx.files.stat_file(write.file) {
        FileStatResult::Present(stamp) => Some(stamp.size),
        FileStatResult::Missing => None,
        // Not judged as a new file: without its size the shrink gate would pass.
        FileStatResult::Refused(why) | FileStatResult::Unavailable(why) => {
            return Err(Failure::unavailable(format!("`{}`: {why}", write.file)));
        }
    };
    let step = PlanStep {
        doing: IntendedChange::Changing(write.effect),
        place: write.place,
        file: write.file,
        node: found.node.as_ref(),
        parent: ParentPlan::from_recorded(found.parent.as_ref(), write.place),
        undecided: found.undecided.as_ref(),
        size,
        // The caller proved with the expected version that it read this text, so read-before-write
        // is settled.
        read: found
            .node
            .as_ref()
            .and_then(|node| node.content.version_hash()),
        session_is_known: true,
        claimed_by: holder.as_deref(),
    };
    evaluate_with_overrides(
        ctx,
        state,
        &Event {
            profiles: ctx.profiles,
            plans: &[step],
            ..Event::default()
        },
    )
}

/// A node that is asked to be planned.
pub(crate) struct PlannedNode<'p> {
    pub(crate) place: &'p PlanPlace<'p>,
    pub(crate) file: &'p str,
    pub(crate) node: Option<&'p Node>,
    pub(crate) parent: Option<&'p Node>,
}

/// Evaluates every gate about the planning of a node: by a command, or handed over to a subagent. An
/// override that lets it pass is used up by the write.
pub(crate) fn evaluate_planning(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    planned: &PlannedNode<'_>,
) -> Result<GateVerdict, Failure> {
    // A person at a terminal has no session that a host could report.
    let session_is_known = ctx.actor.is_human()
        || load_session_state(state, &ctx.session)?
            .conversation
            .started;
    let step = PlanStep {
        doing: IntendedChange::Planning,
        place: planned.place,
        file: planned.file,
        node: planned.node,
        parent: planned.parent.map_or(ParentPlan::None, ParentPlan::Known),
        // Where the parent is in the way, the caller words the refusal itself.
        undecided: None,
        size: None,
        read: None,
        session_is_known,
        // Two sessions may plan what one of them writes.
        claimed_by: None,
    };
    evaluate_with_overrides(
        ctx,
        state,
        &Event {
            profiles: ctx.profiles,
            plans: &[step],
            ..Event::default()
        },
    )
}

/// Uses up the overrides that let a write pass: each counts once.
pub(crate) fn use_up_overrides(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    used: &[FiredGate],
) -> Result<(), Failure> {
    for fired in used {
        tx.save_note(&override_key(fired), None, ctx.clock.now())?;
    }
    Ok(())
}
