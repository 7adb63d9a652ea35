//! Show one node.

use crate::context::Context;
use crate::failure::Failure;
use crate::locate::reject_extra_words;
use crate::observe::observe_node;
use crate::scan::ScanScope;
use crate::views::{NodeView, load_node_view};

/// Returns a node after observing its file.
///
/// # Errors
/// When there is no such node, or the state cannot be read.
pub fn show_node(ctx: &Context<'_>, words: &[String]) -> Result<NodeView, Failure> {
    let seen = observe_node(ctx, words, ScanScope::Lineage)?;
    reject_extra_words(seen.rest)?;
    Ok(load_node_view(&*seen.state, seen.id)?)
}
