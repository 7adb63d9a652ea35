//! The log of operations.

use domain::ids::OperationId;

use crate::context::Context;
use crate::failure::Failure;
use crate::locate::find_top;
use crate::observe::observed;
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
    let state = observed(ctx, Scope::Everything)?;
    let node = find_top(ctx, &*state, &request.node)?;
    let mut found = Vec::new();
    let mut before = request.before;
    while found.len() < request.most {
        let page = state.operations(before, 200)?;
        let Some(last) = page.last() else { break };
        before = Some(last.id);
        for operation in &page {
            let touches = node.is_none_or(|node| operation.facts.iter().any(|fact| fact.nodes().contains(&node)));
            if touches && found.len() < request.most {
                found.push(OperationView::of(&*state, operation)?);
            }
        }
    }
    Ok(found)
}
