//! Give the history to a working copy elsewhere, as lines of a journal, from where it stands.

use domain::access::Admitted;
use domain::exchange::{Greeting, PAGE, SharedNote};
use domain::ids::{Digest32, OperationId};
use domain::ports::Snapshot;
use domain::record::Recorded;
use domain::work::claim::{Claim, heard_key};

use crate::context::Context;
use crate::failure::{Failure, FailureKind};

/// From where on.
#[derive(Clone, Copy, Debug)]
pub struct HandOverRequest {
    pub after: OperationId,
    /// The hash of that operation where it is known; `None` for who knows nothing yet.
    pub hash: Option<Digest32>,
}

/// A stretch of the history.
#[derive(Clone, Debug)]
pub enum HandedOver {
    Page {
        greeting: Box<Greeting>,
        lines: Vec<String>,
    },
    /// The caller has another operation in that place.
    Diverged,
}

/// Returns what follows, as much as fits a page.
///
/// # Errors
/// When the state cannot be read.
pub fn hand_over_operations(
    ctx: &Context<'_>,
    admitted: &Admitted,
    request: &HandOverRequest,
) -> Result<HandedOver, Failure> {
    let state = ctx.store.read()?;
    let head = state.head()?;
    if request
        .hash
        .is_some_and(|hash| state.chain_hash(request.after).ok().flatten() != Some(hash))
    {
        return Ok(HandedOver::Diverged);
    }
    let gone = || Failure::new(FailureKind::Internal, "the last operation has no hash");
    let greeting = Greeting {
        store: state.store_id()?,
        head,
        head_hash: state.chain_hash(head)?.ok_or_else(gone)?,
        now: state.now()?.unwrap_or_else(|| ctx.clock.now()),
        principal: admitted.principal.clone(),
        scope: admitted.scope,
        notes: heard(&*state)?,
    };
    let lines = state.lines(request.after, PAGE)?;
    Ok(HandedOver::Page {
        greeting: Box::new(greeting),
        lines,
    })
}

/// When the sessions that hold something were last heard of: nobody else's silence matters to others.
fn heard(state: &dyn Snapshot) -> Result<Vec<SharedNote>, Failure> {
    let mut notes: Vec<SharedNote> = Vec::new();
    for (_, body) in state.records(Claim::KIND, "")? {
        let Ok(claim) = serde_json::from_value::<Claim>(body) else {
            continue;
        };
        let key = heard_key(&claim.session);
        if let Some(body) = state.note(&key)?
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
