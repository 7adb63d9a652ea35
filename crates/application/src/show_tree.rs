//! Show the tree, or a subtree.

use domain::duplicate_ids::is_duplicate;
use domain::node::Node;
use domain::tree::Tree;

use crate::approval_need::asks_for_approval;
use crate::context::Context;
use crate::failure::Failure;
use crate::locate::find_subtree_root;
use crate::observe::observe_tree;
use crate::views::TreeView;

/// Returns the whole forest, or the tree below one node.
///
/// # Errors
/// When there is no such node, or the state cannot be read.
pub fn show_tree(ctx: &Context<'_>, words: &[String]) -> Result<Vec<TreeView>, Failure> {
    let (state, tree) = observe_tree(ctx)?;
    let top = find_subtree_root(ctx, &*state, words)?;
    // Every kind of tree, the trail included: a caller that asks for the forest gets all roots of
    // all profiles.
    let views = match top.and_then(|id| tree.get(id)) {
        Some(node) => vec![build_tree_view(ctx, &tree, node, tree.alias_path(node))],
        None => tree
            .root_nodes()
            .map(|node| build_tree_view(ctx, &tree, node, node.alias.clone()))
            .collect(),
    };
    Ok(views)
}

/// Builds the nested view. The path is passed down, which spares a walk to the root for every node.
fn build_tree_view(ctx: &Context<'_>, tree: &Tree, node: &Node, path: String) -> TreeView {
    TreeView {
        entity_id: node.alias.clone(),
        entity_type: node.level.clone(),
        title: node.description.title.clone(),
        status: node.status(),
        progress: node.progress,
        version_hash: node.content.version_hash(),
        file_path: node.path.clone(),
        duplicate: is_duplicate(&node.alias),
        asks_approval: asks_for_approval(ctx, node),
        children: tree
            .children(node.id)
            .map(|child| build_tree_view(ctx, tree, child, format!("{path}/{}", child.alias)))
            .collect(),
        path,
    }
}
