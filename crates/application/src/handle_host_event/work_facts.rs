//! The work of a session as the work gates see it: its ticket, phase, uncommitted lines and level.
//!
//! Reading starts no git process. Before an edit, one is started only to confirm a block or when
//! there is no count yet.

use domain::gates::{GateVerdict, NewPhase, WorkStep};
use domain::ids::NodeId;
use domain::ports::Snapshot;
use domain::session_state::{PendingPhase, WorkState};
use domain::work::work_level::{Outgrown, find_outgrown_limit};

use crate::claim_node;
use crate::context::Context;
use crate::failure::Failure;
use crate::session_position::{SessionPosition, Ticket, find_phase, head_commit, load_position};
use crate::uncommitted::{count_uncommitted, has_committed_since, load_uncommitted};

/// The work that the next edit of a session belongs to.
pub(super) struct WorkFacts {
    node: String,
    path: String,
    lines: Option<u64>,
    context: Option<String>,
    phase: Option<PhaseDue>,
    outgrown: Option<Outgrown>,
    holder: Option<String>,
    /// The session's ticket, and the phase it is in.
    ticket: Option<(NodeId, String)>,
}

/// Gathers the work of a session for an edit of this number of files.
pub(super) fn gather_work(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    work: &mut WorkState,
    files: usize,
) -> Result<WorkFacts, Failure> {
    let place = load_position(ctx, state)?;
    let now = head_commit(ctx);
    let busy = ctx.git.operation_in_progress().is_some();
    // In a merge or rebase the index holds other people's changes, and a commit cannot be demanded.
    let lines = if busy {
        None
    } else {
        load_uncommitted(ctx, state, work, now.as_deref())
    };
    let context = context_due(ctx, state, &place, work)?;
    let phase = match (&place.ticket, busy) {
        // The context contains the guide of the current phase; announcing the phase as well would
        // repeat it.
        (Some(ticket), false) if context.is_none() => {
            phase_due(ctx, state, ticket, work, now.as_deref())?
        }
        _ => None,
    };
    let outgrown = match &place.ticket {
        Some(ticket) => {
            let edited = lines.map_or(0, |found| found.files).max(files);
            load_outgrown_limit(state, ticket, edited)?
        }
        None => None,
    };
    let holder = match place.stack.last() {
        Some(node) => claim_node::find_holder(ctx, state, node)?.map(|held| held.describe_holder()),
        None => None,
    };
    Ok(WorkFacts {
        node: place.node_name().to_owned(),
        path: place.node_path(),
        lines: lines.map(|found| found.lines),
        context,
        phase,
        outgrown,
        holder,
        ticket: place.ticket.as_ref().map(|ticket| {
            let phase = ticket.phase().unwrap_or_default();
            (ticket.node.id, phase.to_owned())
        }),
    })
}

impl WorkFacts {
    /// Returns the work as the gates look at it.
    pub(super) fn as_step(&self) -> WorkStep<'_> {
        WorkStep {
            node: &self.node,
            path: &self.path,
            uncommitted: self.lines,
            new_phase: self.phase.as_ref().map(|phase| NewPhase {
                from: phase.from.as_deref(),
                to: &phase.to,
                guide: &phase.guide,
                needs_commit: phase.needs_commit,
            }),
            context: self.context.as_deref(),
            outgrown: self.outgrown.as_ref(),
            claimed_by: self.holder.as_deref(),
        }
    }

    /// Remembers that the ticket's context or guide was given. A context counts as given even if its
    /// gate only warns or is off; otherwise the start of a later phase would not be detected.
    pub(super) fn remember_guidance(&self, work: &mut WorkState, verdict: &GateVerdict) {
        let Some((ticket, phase)) = &self.ticket else {
            return;
        };
        let blocks_phase = verdict.is_blocked_by("phase");
        let gave_guide = self
            .phase
            .as_ref()
            .is_some_and(|phase| !phase.needs_commit || !blocks_phase);
        if self.context.is_some() || gave_guide {
            work.guided.insert(*ticket, phase.clone());
            work.pending = None;
        }
    }
}

/// Returns how the work on a ticket exceeds its level, if it does.
fn load_outgrown_limit(
    state: &dyn Snapshot,
    ticket: &Ticket,
    edited_files: usize,
) -> Result<Option<Outgrown>, Failure> {
    let assessment = ticket.load_assessment(state)?;
    Ok(find_outgrown_limit(
        &assessment,
        edited_files,
        ticket.scenarios.len(),
        ticket.children.len(),
    ))
}

/// Returns the context of the session's ticket, unless it was given already.
fn context_due(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    place: &SessionPosition,
    work: &WorkState,
) -> Result<Option<String>, Failure> {
    match &place.ticket {
        Some(ticket) if !work.guided.contains_key(&ticket.node.id) => {
            ticket.render_context_text(ctx, state).map(Some)
        }
        _ => Ok(None),
    }
}

/// A phase that began and was not announced yet.
struct PhaseDue {
    from: Option<String>,
    to: String,
    guide: String,
    needs_commit: bool,
}

/// Returns the ticket's phase if it differs from the one the session was guided for, with no commit
/// since.
fn phase_due(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    ticket: &Ticket,
    work: &mut WorkState,
    head: Option<&str>,
) -> Result<Option<PhaseDue>, Failure> {
    let phase = ticket.phase().unwrap_or_default();
    let Some(guided) = work.guided.get(&ticket.node.id).cloned() else {
        return Ok(None);
    };
    if guided == phase
        || ctx
            .find_profile(&ticket.node.profile)
            .and_then(|all| find_phase(all, ticket.phase()))
            .is_none()
    {
        work.pending = None;
        return Ok(None);
    }
    // Remembers HEAD from when the phase was first seen, so that a commit in between ends the wait.
    let pending = match work.pending.clone() {
        Some(pending) if pending.ticket == ticket.node.id && pending.to == phase => pending,
        _ => PendingPhase {
            ticket: ticket.node.id,
            to: phase.to_owned(),
            head: head.map(str::to_owned),
        },
    };
    if has_committed_since(ctx, state, pending.head.as_deref(), head)? {
        work.guided.insert(ticket.node.id, phase.to_owned());
        work.pending = None;
        return Ok(None);
    }
    work.pending = Some(pending);
    // With a clean tree no commit can be demanded; the agent could never satisfy the gate.
    let needs_commit = head.is_some()
        && count_uncommitted(ctx, state)
            .0
            .is_some_and(|found| found.anything);
    let guide = ticket.render_phase_text(ctx);
    let from = Some(guided).filter(|from| !from.is_empty());
    Ok(Some(PhaseDue {
        from,
        to: phase.to_owned(),
        guide,
        needs_commit,
    }))
}
