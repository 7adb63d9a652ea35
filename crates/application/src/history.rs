//! The log of operations.

use domain::ids::{NodeId, OperationId};
use domain::ports::Snapshot;

use crate::context::Context;
use crate::failure::Failure;
use crate::locate::nothing_left;
use crate::observe::{observed, observed_node};
use crate::survey::Scope;
use crate::views::OperationView;

/// Which operations are asked for.
#[derive(Clone, Debug, Default)]
pub struct HistoryRequest {
    /// Only those that touched this node; empty means all.
    pub node: Vec<String>,
    pub most: usize,
    pub before: Option<OperationId>,
}

/// Returns operations, newest first.
///
/// # Errors
/// When there is no such node, or the state cannot be read.
pub fn history(ctx: &Context<'_>, request: &HistoryRequest) -> Result<Vec<OperationView>, Failure> {
    // The log of one node asks for no more than the files it stands on.
    let (state, node) = if request.node.is_empty() {
        (observed(ctx, Scope::Everything)?, None)
    } else {
        let seen = observed_node(ctx, &request.node, Scope::Lineage)?;
        nothing_left(seen.rest)?;
        (seen.state, Some(seen.id))
    };
    listed(&*state, node, request)
}

/// The same as it is recorded, of everything: for who looks at the files by itself.
///
/// # Errors
/// When the state cannot be read.
pub fn recorded_history(
    ctx: &Context<'_>,
    most: usize,
    before: Option<OperationId>,
) -> Result<Vec<OperationView>, Failure> {
    listed(
        &*ctx.store.read()?,
        None,
        &HistoryRequest {
            node: Vec::new(),
            most,
            before,
        },
    )
}

fn listed(
    state: &dyn Snapshot,
    node: Option<NodeId>,
    request: &HistoryRequest,
) -> Result<Vec<OperationView>, Failure> {
    let heads = match node {
        None => state.operation_heads(request.before, request.most)?,
        Some(node) => state.operation_heads_of(node, request.before, request.most)?,
    };
    Ok(heads
        .into_iter()
        .map(|head| OperationView::of(state, head))
        .collect::<Result<_, _>>()?)
}
