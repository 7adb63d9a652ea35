//! Record every plan file as it is now, ignoring the file stamps.
//!
//! For changes that keep size and times, which a stamp cannot detect.

use domain::ids::OperationId;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::observe::observe_within;
use crate::scan::ScanScope;

/// Outcome of [`sync_hashes`].
#[derive(Clone, Debug, Serialize)]
pub struct SyncOutcome {
    pub success: bool,
    pub nodes: usize,
    /// The operation that recorded the differences; `None` if there were none.
    pub operation: Option<OperationId>,
    /// One-line summary of the changes.
    pub summary: Option<String>,
}

/// Reads every plan file and records the differences.
///
/// # Errors
/// When the state cannot be written.
pub fn sync_hashes(ctx: &Context<'_>) -> Result<SyncOutcome, Failure> {
    let mut tx = ctx.store.begin_write()?;
    // The usual scan trusts the stamps, which is why it reads no file in an unchanged project.
    let operation = observe_within(ctx, &mut *tx, ScanScope::EverythingAnew)?;
    let nodes = tx.all_nodes()?.len();
    let summary = match operation {
        Some(id) => tx.operation_head(id)?.map(|operation| operation.summary),
        None => None,
    };
    tx.commit()?;
    Ok(SyncOutcome {
        success: true,
        nodes,
        operation,
        summary,
    })
}
