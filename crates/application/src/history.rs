//! The log of operations.

use domain::ids::OperationId;
use domain::operation::Operation;

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
    let mut found = Vec::new();
    let mut before = request.before;
    while found.len() < request.most {
        let page = (request.most - found.len()).min(200);
        // Only who asks about one node has to go through the facts.
        let heads = match node {
            None => state.operation_heads(before, page)?,
            Some(node) => {
                let page = state.operations(before, 200)?;
                before = page.last().map(|last| last.id);
                if page.is_empty() {
                    break;
                }
                let touches = |operation: &&Operation| operation.facts.iter().any(|fact| fact.nodes().contains(&node));
                page.iter().filter(touches).map(Operation::head).collect()
            }
        };
        if node.is_none() {
            let Some(last) = heads.last() else { break };
            before = Some(last.id);
        }
        for head in heads.into_iter().take(request.most - found.len()) {
            found.push(OperationView::of(&*state, head)?);
        }
    }
    Ok(found)
}
