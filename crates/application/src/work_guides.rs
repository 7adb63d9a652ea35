//! Guides of work phases: given to a session when its ticket's phase changes, whatever changed it.
//!
//! Once per conversation and version of the guide, then named in one line. That a phase waits for a
//! commit is decided by the `phase` gate; announcing it here does not open the gate.

use domain::ids::{Digest32, Principal};
use domain::node::Node;
use domain::ports::{Snapshot, Transaction};
use domain::session_state::{PendingPhase, SessionState};
use domain::work::phase_order::is_building_phase;

use crate::context::Context;
use crate::failure::Failure;
use crate::session_position::{Ticket, find_phase, find_session_ticket, head_commit, load_ticket};
use crate::session_state::{load_session_state, store_session_state};

/// What a session does when a guide may be due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GuidedStep {
    /// A person's prompt.
    Prompt,
    /// An edit of the project's files.
    Edit,
    /// A change of its ticket.
    WriteTicket,
    /// Any other call.
    Other,
}

/// Returns the guide of a phase that began since the session was last told of one. A session that
/// writes in its ticket without having had the ticket's context gets that, and so does one that goes
/// on with its work after the conversation with it was compacted or left.
pub(crate) fn give_due_guide(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    session: &mut SessionState,
    step: GuidedStep,
) -> Result<Option<String>, Failure> {
    // The node alone decides: its scenarios and their commits are loaded only for the text.
    let Some(node) = find_session_ticket(ctx, state)? else {
        return Ok(None);
    };
    match session.work.guided.contains_key(&node.id) {
        true if register_phase(ctx, session, &node) => {
            let ticket = load_ticket(ctx, state, node, None)?;
            let guides = &session.conversation.guides;
            let text = ticket.render_phase_text(ctx, state, guides)?;
            remember_guide(ctx, session, &ticket);
            Ok(Some(text))
        }
        true if has_lost_guide(ctx, session, &node, step) => {
            let ticket = load_ticket(ctx, state, node, None)?;
            let guides = &session.conversation.guides;
            let text = ticket.render_context_text(ctx, state, guides)?;
            remember_guide(ctx, session, &ticket);
            Ok(Some(text))
        }
        false if step == GuidedStep::WriteTicket => {
            let ticket = load_ticket(ctx, state, node, None)?;
            let guides = &session.conversation.guides;
            let text = ticket.render_context_text(ctx, state, guides)?;
            remember_context(ctx, session, &ticket);
            Ok(Some(text))
        }
        _ => Ok(None),
    }
}

/// Returns the guide of the phase that an agent has just set, for the output of its command.
pub(crate) fn announce_phase(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    ticket: &Ticket,
) -> Result<Option<String>, Failure> {
    // A person reads the guide's file if they want to.
    if matches!(ctx.actor, Principal::Human(_)) {
        return Ok(None);
    }
    let mut session = load_session_state(&*tx, &ctx.session)?;
    let text = ticket.render_phase_text(ctx, &*tx, &session.conversation.guides)?;
    // Without the ticket's context the `context` gate still has to give it.
    if session.work.guided.contains_key(&ticket.node.id) {
        register_phase(ctx, &mut session, &ticket.node);
    }
    remember_guide(ctx, &mut session, ticket);
    store_session_state(ctx, tx, &session)?;
    Ok(Some(text))
}

/// Whether a step goes on with a ticket whose guide the session was given, and the conversation no
/// longer contains. Decided by the name: no file is read for it.
fn has_lost_guide(
    ctx: &Context<'_>,
    session: &SessionState,
    node: &Node,
    step: GuidedStep,
) -> bool {
    let named = node.description.work.as_ref();
    let named = named.and_then(|keys| keys.phase.as_deref());
    let Some(profile) = ctx.find_profile(&node.profile) else {
        return false;
    };
    let goes_on = match step {
        GuidedStep::Prompt => true,
        // In the phases before, an edit of other files is not the work of the ticket.
        GuidedStep::Edit => is_building_phase(&profile.work_phases, named),
        GuidedStep::WriteTicket | GuidedStep::Other => false,
    };
    let guides = &session.conversation.guides;
    let phase = find_phase(profile, named).filter(|_| goes_on);
    phase.is_some_and(|phase| !guides.contains_key(&phase.guide))
}

/// Remembers that a session was given the guide of a ticket's phase.
pub(crate) fn remember_guide(ctx: &Context<'_>, session: &mut SessionState, ticket: &Ticket) {
    let guides = &mut session.conversation.guides;
    if let Some(guide) = ticket.find_guide(ctx) {
        guides.insert(guide.name, guide.digest);
    } else if let Some(name) = ticket.guide_name(ctx) {
        // A phase without a guide: there is nothing to give another time.
        guides.insert(name, Digest32::of_bytes(&[]));
    }
}

/// Remembers that a session was given the context of a ticket, which includes the guide.
pub(crate) fn remember_context(ctx: &Context<'_>, session: &mut SessionState, ticket: &Ticket) {
    let phase = ticket.phase().unwrap_or_default().to_owned();
    session.work.guided.insert(ticket.node.id, phase);
    session.work.pending = None;
    remember_guide(ctx, session, ticket);
}

/// Registers the phase of a ticket as the one the session was told of. Returns whether it is new.
fn register_phase(ctx: &Context<'_>, session: &mut SessionState, node: &Node) -> bool {
    let is_new = note_phase_change(ctx, session, node);
    if let Some(pending) = session.work.pending.as_mut().filter(|_| is_new) {
        pending.is_announced = true;
    }
    is_new
}

/// Notes that a ticket's phase differs from the one the session was told of, and that it waits for a
/// commit. Returns whether it began now.
pub(crate) fn note_phase_change(
    ctx: &Context<'_>,
    session: &mut SessionState,
    node: &Node,
) -> bool {
    let work = &mut session.work;
    let named = node.description.work.as_ref();
    let named = named.and_then(|keys| keys.phase.as_deref());
    let phase = named.unwrap_or_default();
    let Some(guided) = work.guided.get(&node.id) else {
        return false;
    };
    let is_known = ctx
        .find_profile(&node.profile)
        .is_some_and(|profile| find_phase(profile, named).is_some());
    if guided == phase || !is_known {
        return false;
    }
    let from = guided.clone();
    work.guided.insert(node.id, phase.to_owned());
    // Back in the phase it came from: there is nothing to wait for.
    let is_back = |pending: &PendingPhase| pending.ticket == node.id && pending.from == phase;
    if work.pending.as_ref().is_some_and(is_back) {
        work.pending = None;
        return false;
    }
    work.pending = Some(PendingPhase {
        ticket: node.id,
        from,
        to: phase.to_owned(),
        is_announced: false,
        head: head_commit(ctx),
    });
    true
}
