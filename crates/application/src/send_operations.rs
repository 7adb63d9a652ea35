//! Send the history to a replica: journal lines from the replica's position on, one page at a time.
//!
//! The counterpart, receiving operations, is `accept_operations`.

use domain::authorization::AuthenticatedPrincipal;
use domain::ids::{Digest32, OperationId};
use domain::ports::Snapshot;
use domain::record::Recorded;
use domain::sync_protocol::{PULL_PAGE_BYTES, PullHeader, SharedNote};
use domain::work::claim::{Claim, activity_key};

use crate::context::Context;
use crate::failure::Failure;

/// The replica's position.
#[derive(Clone, Copy, Debug)]
pub struct SendOperationsRequest {
    pub after: OperationId,
    /// The replica's hash of that operation; `None` for a replica that is still empty.
    pub hash: Option<Digest32>,
}

/// A page of the history.
#[derive(Clone, Debug)]
pub enum SendOperationsOutcome {
    Page {
        greeting: Box<PullHeader>,
        lines: Vec<String>,
    },
    /// The replica has another operation at that position.
    Diverged,
}

/// Returns the operations after the replica's position, up to one page.
///
/// # Errors
/// When the state cannot be read.
pub fn send_operations(
    ctx: &Context<'_>,
    admitted: &AuthenticatedPrincipal,
    request: &SendOperationsRequest,
) -> Result<SendOperationsOutcome, Failure> {
    let state = ctx.store.begin_read()?;
    let head = state.last_operation_id()?;
    // Compared before anything is sent: lines of one history cannot be appended to another.
    if request.hash.is_some() && state.chain_hash(request.after)? != request.hash {
        return Ok(SendOperationsOutcome::Diverged);
    }
    let gone = || Failure::internal("the last operation has no hash");
    let greeting = PullHeader {
        store: state.store_id()?,
        head,
        head_hash: state.chain_hash(head)?.ok_or_else(gone)?,
        now: state.store_time()?.unwrap_or_else(|| ctx.clock.now()),
        principal: admitted.principal.clone(),
        scope: admitted.scope,
        notes: load_heartbeats(&*state)?,
    };
    let lines = state.journal_lines(request.after, PULL_PAGE_BYTES)?;
    Ok(SendOperationsOutcome::Page {
        greeting: Box::new(greeting),
        lines,
    })
}

/// Returns the last activity of sessions that hold claims: a replica needs it to judge their
/// leases. That of other sessions affects no one else.
fn load_heartbeats(state: &dyn Snapshot) -> Result<Vec<SharedNote>, Failure> {
    let mut notes: Vec<SharedNote> = Vec::new();
    for (_, body) in state.records_by_prefix(Claim::KIND, "")? {
        // A claim written by a newer version is skipped: a heartbeat less only lets a lease look
        // shorter.
        let Ok(claim) = serde_json::from_value::<Claim>(body) else {
            continue;
        };
        let key = activity_key(&claim.session);
        if let Some(body) = state.load_note(&key)?
            && !notes.iter().any(|note| note.key == key)
        {
            notes.push(SharedNote {
                key,
                body,
                at: claim.since,
            });
        }
    }
    Ok(notes)
}
