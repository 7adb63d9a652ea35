//! Show one node.

use crate::context::Context;
use crate::failure::Failure;
use crate::locate::locate_one;
use crate::observe::observed;
use crate::survey::Scope;
use crate::views::{NodeView, node_view};

/// Returns a node as it is now.
///
/// # Errors
/// When there is no such node, or the state cannot be read.
pub fn show_node(ctx: &Context<'_>, words: &[String]) -> Result<NodeView, Failure> {
    let id = locate_one(ctx, words)?;
    let state = observed(ctx, Scope::Lineage(id))?;
    Ok(node_view(&*state, id)?)
}
