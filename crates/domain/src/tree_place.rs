//! Sort key of a node by its place in the tree, so that lists in tree order can be kept up to date
//! without the whole tree.

use serde::{Deserialize, Serialize};

use crate::ids::NodeId;
use crate::node::Node;
use crate::tree::Tree;

/// The place of a node: keys in this order are in the order of [`Tree::all_preorder`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TreePlace {
    profile: String,
    /// Level, number, alias and id, from the root down: siblings are in that order.
    steps: Vec<(String, i64, String, NodeId)>,
}

impl TreePlace {
    /// Returns the place of a node of a tree that has its ancestors.
    #[must_use]
    pub fn of_node(tree: &Tree, node: &Node) -> Self {
        let mut path: Vec<&Node> = tree.ancestors(node);
        path.reverse();
        path.push(node);
        let step = |node: &&Node| (node.level.clone(), node.order, node.alias.clone(), node.id);
        Self {
            profile: path[0].profile.clone(),
            steps: path.iter().map(step).collect(),
        }
    }
}
