//! The children of a node and how they stand.

use crate::context::Context;
use crate::failure::Failure;
use crate::locate::locate_one;
use crate::observe::observed;
use crate::survey::Scope;
use crate::views::{ChildView, ChildrenView, StatusCounts};

/// Returns the children of a node.
///
/// # Errors
/// When there is no such node, or the state cannot be read.
pub fn children_status(ctx: &Context<'_>, words: &[String]) -> Result<ChildrenView, Failure> {
    let id = locate_one(ctx, words)?;
    let state = observed(ctx, Scope::Family(id))?;
    let mut children = state.children(id)?;
    children.sort_by(domain::tree::sibling_order);
    let mut status_counts = StatusCounts::default();
    children.iter().for_each(|child| status_counts.add(child.status()));
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
