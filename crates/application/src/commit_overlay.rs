//! Overlay of the progress that commits led to since it was last recorded, for commands that show it.
//!
//! Without hooks nobody records a commit when it is made. Recording it here would take the message
//! about it from the agent whose hook comes a moment later, so it is only laid over the state.

use domain::operation::Operation;
use domain::ports::{OperationReader, Snapshot, Transaction};

use crate::context::Context;
use crate::failure::Failure;
use crate::follow_commits::derive_commit_changes;
use crate::overlay::Overlay;
use crate::session_position::{head_commit, list_entered_tickets};
use crate::ticket_cycles::is_recorded_at;

/// A state as the history of HEAD has it.
pub(crate) struct StateAtHead<'s> {
    pub(crate) state: Box<dyn Snapshot + 's>,
    /// The operations that are laid over the recorded state, newest first.
    pub(crate) operations: Vec<Operation>,
}

/// Lays the progress that commits led to over a state. Costs nothing while no session is at a
/// ticket, and starts no `git` while HEAD is where it was recorded.
pub(crate) fn overlay_commits<'s>(
    ctx: &Context<'_>,
    state: Box<dyn Snapshot + 's>,
) -> Result<StateAtHead<'s>, Failure> {
    let mut tickets = list_entered_tickets(ctx, &*state)?;
    if !tickets.is_empty() {
        let head = head_commit(ctx);
        let mut moved = Vec::new();
        for ticket in tickets {
            if !is_recorded_at(&*state, ticket.id, head.as_deref())? {
                moved.push(ticket);
            }
        }
        tickets = moved;
    }
    let mut operations = Vec::new();
    if tickets.is_empty() {
        return Ok(StateAtHead { state, operations });
    }
    let mut overlay = Overlay::new(state);
    for ticket in tickets {
        // Each on top of the one before: two tickets may be the last open ones of a third.
        let changes = derive_commit_changes(ctx, &overlay, &ticket, 0)?;
        if let Some(operation) = changes.and_then(|changes| changes.operation) {
            let id = overlay.record_operation(operation)?;
            operations.extend(overlay.load_operation(id)?);
        }
    }
    operations.reverse();
    let state = if operations.is_empty() {
        overlay.into_base()
    } else {
        Box::new(overlay)
    };
    Ok(StateAtHead { state, operations })
}
