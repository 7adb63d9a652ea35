//! Record an event of the store itself: it was created, or adopted.

use domain::ids::OperationId;
use domain::operation::Verb;

use crate::context::Context;
use crate::decisions::note_decision_files;
use crate::failure::Failure;
use crate::observe::{observe_within, record_all_changes};
use crate::scan::ScanScope;

/// Records an operation without facts of its own, then the present plan files.
///
/// # Errors
/// When the state cannot be written.
pub fn record_event(ctx: &Context<'_>, verb: Verb, summary: &str) -> Result<OperationId, Failure> {
    let mut tx = ctx.store.begin_write()?;
    let begins = tx.last_operation_id()? == OperationId(0);
    // Before the files are observed: the first operation of a history names its beginning, and undo
    // stops there.
    let id = tx.record_operation(ctx.new_operation(verb, summary.to_owned()))?;
    // A shared state begins with the files of the working copy that creates it; every later one has
    // to submit what it has.
    match begins {
        true => {
            record_all_changes(ctx, &mut *tx, ScanScope::Everything)?;
            // It has no decisions but those that came as files, so the next command need not scan
            // everything for others.
            note_decision_files(ctx, &mut *tx)?;
        }
        false => {
            observe_within(ctx, &mut *tx, ScanScope::Everything)?;
        }
    }
    tx.commit()?;
    // The commit has exported what it changed; this covers a mirror that belongs to another history.
    ctx.store.finish_mirror();
    Ok(id)
}
