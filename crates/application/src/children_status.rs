//! Children of a node with their status.

use crate::context::Context;
use crate::failure::Failure;
use crate::locate::nothing_left;
use crate::observe::observed_node;
use crate::survey::Scope;
use crate::views::{ChildView, ChildrenView, StatusCounts};

/// Returns the children of a node.
///
/// # Errors
/// When there is no such node, or the state cannot be read.
pub fn children_status(ctx: &Context<'_>, words: &[String]) -> Result<ChildrenView, Failure> {
    // The family includes the files of the children: their statuses are the answer, so they have to
    // be up to date as well.
    let seen = observed_node(ctx, words, Scope::Family)?;
    nothing_left(seen.rest)?;
    let mut children = seen.state.children(seen.id)?;
    children.sort_by(domain::tree::sibling_order);
    let mut status_counts = StatusCounts::default();
    children
        .iter()
        .for_each(|child| status_counts.add(child.status()));
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
