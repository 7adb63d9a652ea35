//! Log of operations, of the project or of one node.
//!
//! Lists operation heads only; the facts are read when one operation is shown.

use domain::ids::{NodeId, OperationId};
use domain::ports::Snapshot;

use crate::context::Context;
use crate::failure::Failure;
use crate::locate::reject_extra_words;
use crate::observe::{observe_node, observe_then_read};
use crate::scan::ScanScope;
use crate::views::OperationView;

/// Request of [`history`].
#[derive(Clone, Debug, Default)]
pub struct HistoryRequest {
    /// Only operations that touched this node; empty means all.
    pub node: Vec<String>,
    pub most: usize,
    pub before: Option<OperationId>,
}

/// Returns operations, newest first.
///
/// # Errors
/// When there is no such node, or the state cannot be read.
pub fn list_history(
    ctx: &Context<'_>,
    request: &HistoryRequest,
) -> Result<Vec<OperationView>, Failure> {
    // The log of one node needs only the files that node depends on; a scan of the whole project
    // would dominate its time.
    let (state, node) = if request.node.is_empty() {
        (observe_then_read(ctx, ScanScope::Everything)?, None)
    } else {
        let seen = observe_node(ctx, &request.node, ScanScope::Lineage)?;
        reject_extra_words(seen.rest)?;
        (seen.state, Some(seen.id))
    };
    load_history(&*state, node, request.most, request.before)
}

/// Returns the recorded operations of the project without scanning the files, for a caller that
/// scans them itself.
///
/// # Errors
/// When the state cannot be read.
pub fn list_recorded_history(
    ctx: &Context<'_>,
    most: usize,
    before: Option<OperationId>,
) -> Result<Vec<OperationView>, Failure> {
    load_history(&*ctx.store.begin_read()?, None, most, before)
}

/// Returns at most `most` operations before one, newest first.
pub(crate) fn load_history(
    state: &dyn Snapshot,
    node: Option<NodeId>,
    most: usize,
    before: Option<OperationId>,
) -> Result<Vec<OperationView>, Failure> {
    let heads = match node {
        None => state.operation_heads(before, most)?,
        Some(node) => state.operation_heads_of_node(node, before, most)?,
    };
    Ok(heads
        .into_iter()
        .map(|head| OperationView::from_head(state, head))
        .collect::<Result<_, _>>()?)
}
