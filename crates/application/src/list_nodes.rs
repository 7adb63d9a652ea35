//! Every node as one list, in the order of the tree: for who shows a window of it.

use domain::node::{Progress, Status};
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::observe::observed_tree;

/// A node in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RowView {
    pub path: String,
    pub entity_id: String,
    pub entity_type: String,
    pub profile: String,
    pub title: Option<String>,
    pub status: Status,
    pub progress: Progress,
    /// The phase the work on it is in, where its file says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// How far below its root.
    pub depth: usize,
    pub children: usize,
}

/// Returns every node; a parent comes before its children.
///
/// # Errors
/// When the state cannot be read.
pub fn list_nodes(ctx: &Context<'_>) -> Result<Vec<RowView>, Failure> {
    let (_, tree) = observed_tree(ctx)?;
    let mut rows: Vec<RowView> = Vec::with_capacity(tree.len());
    // The aliases on the way down to the node before.
    let mut way: Vec<(domain::ids::NodeId, usize)> = Vec::new();
    let mut path = String::new();
    for node in tree.all_in_order() {
        while let Some((above, length)) = way.last().copied() {
            if node.parent == Some(above) {
                path.truncate(length);
                break;
            }
            way.pop();
        }
        if way.is_empty() {
            path.clear();
        } else {
            path.push('/');
        }
        path.push_str(&node.alias);
        rows.push(RowView {
            path: path.clone(),
            entity_id: node.alias.clone(),
            entity_type: node.level.clone(),
            profile: node.profile.clone(),
            title: node.description.title.clone(),
            status: node.status(),
            progress: node.progress,
            phase: node.description.work.as_ref().and_then(|work| work.phase.clone()),
            depth: way.len(),
            children: tree.children(node.id).count(),
        });
        way.push((node.id, path.len()));
    }
    Ok(rows)
}
