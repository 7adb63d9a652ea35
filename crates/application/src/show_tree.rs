//! Show the tree, or a subtree.

use domain::node::Node;
use domain::tree::Tree;

use crate::context::Context;
use crate::failure::Failure;
use crate::locate::find_top;
use crate::observe::observed_tree;
use crate::views::TreeView;

/// Returns the whole forest, or the tree below one node.
///
/// # Errors
/// When there is no such node, or the state cannot be read.
pub fn show_tree(ctx: &Context<'_>, words: &[String]) -> Result<Vec<TreeView>, Failure> {
    let (state, tree) = observed_tree(ctx)?;
    let top = find_top(ctx, &*state, words)?;
    // Every kind of tree, the trail included: a caller that asks for the forest gets all roots of
    // all profiles.
    let views = match top.and_then(|id| tree.get(id)) {
        Some(node) => vec![view(&tree, node, tree.path(node))],
        None => tree
            .tops()
            .map(|node| view(&tree, node, node.alias.clone()))
            .collect(),
    };
    Ok(views)
}

/// Builds the nested view. The path is passed down, which spares a walk to the root for every node.
fn view(tree: &Tree, node: &Node, path: String) -> TreeView {
    TreeView {
        entity_id: node.alias.clone(),
        entity_type: node.level.clone(),
        title: node.description.title.clone(),
        status: node.status(),
        progress: node.progress,
        version_hash: node.content.version(),
        file_path: node.path.clone(),
        children: tree
            .children(node.id)
            .map(|child| view(tree, child, format!("{path}/{}", child.alias)))
            .collect(),
        path,
    }
}
