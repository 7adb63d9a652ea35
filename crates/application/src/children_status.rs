//! Children of a node with their status.

use crate::context::Context;
use crate::failure::Failure;
use crate::locate::reject_extra_words;
use crate::observe::observe_node;
use crate::scan::ScanScope;
use crate::views::{ChildView, ChildrenView, StatusCounts};

/// Returns the children of a node.
///
/// # Errors
/// When there is no such node, or the state cannot be read.
pub fn children_status(ctx: &Context<'_>, words: &[String]) -> Result<ChildrenView, Failure> {
    // The family includes the files of the children: their statuses are the answer, so they have to
    // be up to date as well.
    let seen = observe_node(ctx, words, ScanScope::Family)?;
    reject_extra_words(seen.rest)?;
    let mut children = seen.state.load_children(seen.id)?;
    children.sort_by(domain::tree::sibling_order);
    let mut status_counts = StatusCounts::default();
    children
        .iter()
        .for_each(|child| status_counts.add_status(child.status()));
    Ok(ChildrenView {
        total_children: children.len(),
        status_counts,
        children: children
            .into_iter()
            .map(|child| ChildView {
                status: child.status(),
                entity_id: child.alias,
                entity_type: child.level,
                file_path: child.path,
                title: child.description.title,
            })
            .collect(),
    })
}
