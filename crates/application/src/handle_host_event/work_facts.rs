//! The work of a session as the work gates see it: its ticket, phase, uncommitted lines and level.
//!
//! Reading starts no git process. Before an edit, one is started only to confirm a block or when
//! there is no count yet.

use domain::gates::{GateVerdict, NewPhase, WorkStep, max_uncommitted_lines};
use domain::ports::Snapshot;
use domain::session_state::{PendingPhase, SessionState};
use domain::work::work_level::{Assessment, LevelLimits, Outgrown, WorkLevel, find_outgrown_limit};

use crate::claim_node;
use crate::context::Context;
use crate::failure::Failure;
use crate::session_position::{SessionPosition, Ticket, head_commit, load_position};
use crate::ticket_files::count_ticket_files;
use crate::uncommitted::{count_uncommitted, has_committed_since, load_uncommitted};
use crate::work_guides;

/// The work that the next edit of a session belongs to.
pub(super) struct WorkFacts {
    node: String,
    path: String,
    lines: Option<u64>,
    level: Option<WorkLevel>,
    context: Option<String>,
    phase: Option<PhaseDue>,
    outgrown: Option<Outgrown>,
    holder: Option<String>,
    /// The session's ticket.
    ticket: Option<Ticket>,
}

/// Gathers the work of a session for an edit of this number of files.
pub(super) fn gather_work(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    session: &mut SessionState,
    files: usize,
) -> Result<WorkFacts, Failure> {
    let place = load_position(ctx, state)?;
    let now = head_commit(ctx);
    let busy = ctx.git.operation_in_progress().is_some();
    // In a merge or rebase the index holds other people's changes, and a commit cannot be demanded.
    let assessment = match &place.ticket {
        Some(ticket) => Some(ticket.load_assessment(state)?),
        None => None,
    };
    let level = assessment.as_ref().map(|found| found.level);
    let limit = max_uncommitted_lines(level, ctx.policy);
    let lines = if busy {
        None
    } else {
        load_uncommitted(ctx, state, &mut session.work, now.as_deref(), limit)
    };
    let context = context_due(ctx, state, &place, session)?;
    let phase = match (&place.ticket, busy) {
        // The context contains the guide of the current phase; announcing the phase as well would
        // repeat it.
        (Some(ticket), false) if context.is_none() => {
            phase_due(ctx, state, ticket, session, now.as_deref())?
        }
        _ => None,
    };
    let outgrown = match (&place.ticket, &assessment) {
        (Some(ticket), Some(assessment)) => {
            // The larger of both: the call that is judged may touch files that are not changed yet.
            let edited = lines.map_or(0, |found| found.files).max(files);
            {
                let limits = LevelLimits::from_gates(&ctx.policy.gates);
                load_outgrown_limit(limits, state, ticket, assessment, edited)?
            }
        }
        _ => None,
    };
    let holder = match place.stack.last() {
        Some(node) => claim_node::find_holder(ctx, state, node)?.map(|held| held.describe_holder()),
        None => None,
    };
    Ok(WorkFacts {
        node: place.node_name().to_owned(),
        path: place.node_path(),
        lines: lines.map(|found| found.lines),
        level,
        context,
        phase,
        outgrown,
        holder,
        ticket: place.ticket,
    })
}

impl WorkFacts {
    /// Returns the work as the gates look at it.
    pub(super) fn as_step(&self) -> WorkStep<'_> {
        WorkStep {
            node: &self.node,
            path: &self.path,
            uncommitted: self.lines,
            level: self.level,
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
    pub(super) fn remember_guidance(
        &self,
        ctx: &Context<'_>,
        session: &mut SessionState,
        verdict: &GateVerdict,
    ) {
        let Some(ticket) = &self.ticket else {
            return;
        };
        if self.context.is_some() {
            work_guides::remember_context(ctx, session, ticket);
        }
        let Some(phase) = &self.phase else {
            return;
        };
        work_guides::remember_guide(ctx, session, ticket);
        match &mut session.work.pending {
            Some(pending) if phase.needs_commit && verdict.is_blocked_by("phase") => {
                pending.is_announced = true;
            }
            pending => *pending = None,
        }
    }
}

/// Returns how the work on a ticket exceeds its level, if it does.
fn load_outgrown_limit(
    limits: LevelLimits,
    state: &dyn Snapshot,
    ticket: &Ticket,
    assessment: &Assessment,
    edited_files: usize,
) -> Result<Option<Outgrown>, Failure> {
    // Also what earlier commits and sessions touched; read only where it can matter.
    let is_limited = limits.max_files(assessment.level).is_some();
    let files = match is_limited && assessment.accepted_scenarios.is_none() {
        true => edited_files.max(count_ticket_files(state, ticket.node.id)?),
        false => edited_files,
    };
    Ok(find_outgrown_limit(
        assessment,
        limits,
        files,
        ticket.scenarios.len(),
        ticket.children.len(),
    ))
}

/// Returns the context of the session's ticket, unless it was given already.
fn context_due(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    place: &SessionPosition,
    session: &SessionState,
) -> Result<Option<String>, Failure> {
    match &place.ticket {
        Some(ticket) if !session.work.guided.contains_key(&ticket.node.id) => {
            let guides = &session.conversation.guides;
            ticket.render_context_text(ctx, state, guides).map(Some)
        }
        _ => Ok(None),
    }
}

/// A phase that began: its guide was not given yet, or it waits for a commit.
struct PhaseDue {
    from: Option<String>,
    to: String,
    guide: String,
    needs_commit: bool,
}

/// Returns the phase that began since the session was guided, with no commit since.
fn phase_due(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    ticket: &Ticket,
    session: &mut SessionState,
    head: Option<&str>,
) -> Result<Option<PhaseDue>, Failure> {
    work_guides::note_phase_change(ctx, session, &ticket.node);
    let is_of_ticket = |pending: &PendingPhase| pending.ticket == ticket.node.id;
    let Some(pending) = session.work.pending.clone().filter(is_of_ticket) else {
        session.work.pending = None;
        return Ok(None);
    };
    // Compared with HEAD from when the phase was first seen: a commit in between ends the wait.
    if has_committed_since(ctx, state, pending.head.as_deref(), head)? {
        session.work.pending = None;
        return Ok(None);
    }
    // With a clean tree no commit can be demanded; the agent could never satisfy the gate.
    let needs_commit = head.is_some()
        && count_uncommitted(ctx, state)
            .0
            .is_some_and(|found| found.anything);
    if pending.is_announced && !needs_commit {
        session.work.pending = None;
        return Ok(None);
    }
    Ok(Some(PhaseDue {
        from: Some(pending.from).filter(|from| !from.is_empty()),
        to: pending.to,
        guide: ticket.render_phase_text(ctx, state, &session.conversation.guides)?,
        needs_commit,
    }))
}
