//! Show one node.

use crate::context::Context;
use crate::failure::Failure;
use crate::locate::nothing_left;
use crate::observe::observed_node;
use crate::survey::Scope;
use crate::views::{NodeView, node_view};

/// Returns a node after observing its file.
///
/// # Errors
/// When there is no such node, or the state cannot be read.
pub fn show_node(ctx: &Context<'_>, words: &[String]) -> Result<NodeView, Failure> {
    let seen = observed_node(ctx, words, Scope::Lineage)?;
    nothing_left(seen.rest)?;
    Ok(node_view(&*seen.state, seen.id)?)
}
