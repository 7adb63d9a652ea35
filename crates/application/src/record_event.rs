//! Record that something happened to the store itself: it was made, or adopted.

use domain::ids::OperationId;
use domain::operation::Verb;

use crate::context::Context;
use crate::failure::Failure;
use crate::observe::observe_within;
use crate::survey::Scope;

/// Records an operation without facts of its own, then what the plan files are.
///
/// # Errors
/// When the state cannot be written.
pub fn record_event(ctx: &Context<'_>, verb: Verb, summary: &str) -> Result<OperationId, Failure> {
    let mut tx = ctx.store.write()?;
    let id = tx.record(ctx.operation(verb, summary.to_owned()))?;
    observe_within(ctx, &mut *tx, Scope::Everything)?;
    tx.commit()?;
    ctx.sync_mirror();
    Ok(id)
}
