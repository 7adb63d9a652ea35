//! The files that work on a ticket touched, over all its commits and sessions, for the `scope` gate.
//!
//! A note per ticket, kept by the hooks: if it is lost, only the uncommitted files count.

use std::collections::BTreeSet;

use domain::ids::NodeId;
use domain::ports::{Snapshot, Transaction};

use crate::context::Context;
use crate::failure::Failure;
use crate::uncommitted::is_counted;

/// Maximum number of remembered files: far beyond every limit.
const MAX_FILES: usize = 64;

fn note_key(ticket: NodeId) -> String {
    format!("work/files/{}", ticket.0)
}

/// Returns the number of files that work on a ticket touched.
pub(crate) fn count_ticket_files(state: &dyn Snapshot, ticket: NodeId) -> Result<usize, Failure> {
    Ok(load_files(state, ticket)?.len())
}

fn load_files(state: &dyn Snapshot, ticket: NodeId) -> Result<BTreeSet<String>, Failure> {
    let note = state.load_note(&note_key(ticket))?;
    Ok(note
        .and_then(|body| serde_json::from_str(&body).ok())
        .unwrap_or_default())
}

/// Remembers files that a session changed while it was at a ticket.
pub(crate) fn remember_ticket_files(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    ticket: NodeId,
    files: &[String],
) -> Result<(), Failure> {
    let mut counted = files.iter().filter(|file| is_counted(ctx, file)).peekable();
    if counted.peek().is_none() {
        return Ok(());
    }
    let mut known = load_files(&*tx, ticket)?;
    let before = known.len();
    let room = MAX_FILES.saturating_sub(before);
    known.extend(counted.take(room).cloned());
    // Nearly every edit is of a file that is known.
    if known.len() == before {
        return Ok(());
    }
    let body = serde_json::to_string(&known).unwrap_or_default();
    Ok(tx.save_note(&note_key(ticket), Some(&body), ctx.clock.now())?)
}
