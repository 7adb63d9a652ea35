//! The tool `plan_tree`.

use application::show_tree::show_tree;
use application::views::TreeView;
use application::{Context, Failure};
use domain::node::Status;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tools::arguments::node_words;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// alias or path; all without it
    #[serde(default)]
    node: Option<String>,
    #[serde(default = "default_include_status")]
    include_status: bool,
    #[serde(default = "default_depth")]
    #[schemars(range(min = 1, max = 10))]
    depth: usize,
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 5000))]
    limit: usize,
}

fn default_include_status() -> bool {
    true
}

fn default_depth() -> usize {
    3
}

fn default_limit() -> usize {
    300
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct LimitedTree {
    tree: Vec<Branch>,
    nodes: usize,
    cut: usize,
}

#[derive(Serialize, JsonSchema)]
struct Branch {
    entity_id: String,
    entity_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    // Optional, because statuses double the size of a large tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    /// Another plan has its id too.
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate: Option<bool>,
    // Per node, so that the model knows where to ask for more.
    #[serde(skip_serializing_if = "Option::is_none")]
    children_not_shown: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    children: Vec<Branch>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<LimitedTree, Failure> {
    let words = arguments
        .node
        .as_deref()
        .map(node_words)
        .unwrap_or_default();
    let forest = show_tree(ctx, &words)?;
    let mut limiter = TreeLimiter {
        left: arguments.limit,
        shown: 0,
        cut: 0,
        with_status: arguments.include_status,
    };
    let tree = forest
        .into_iter()
        .filter_map(|node| limiter.take_branch(node, arguments.depth))
        .collect();
    Ok(LimitedTree {
        tree,
        nodes: limiter.shown,
        cut: limiter.cut,
    })
}

/// Remaining budget of nodes, and what was left out.
struct TreeLimiter {
    left: usize,
    shown: usize,
    cut: usize,
    with_status: bool,
}

impl TreeLimiter {
    fn take_branch(&mut self, node: TreeView, depth: usize) -> Option<Branch> {
        if self.left == 0 || depth == 0 {
            // Counted with everything below, so that the model knows how much it does not see.
            self.cut += count_nodes(&node);
            return None;
        }
        self.left -= 1;
        self.shown += 1;
        let all_children = node.children.len();
        let children: Vec<Branch> = node
            .children
            .into_iter()
            .filter_map(|child| self.take_branch(child, depth - 1))
            .collect();
        let hidden = all_children - children.len();
        Some(Branch {
            entity_id: node.entity_id,
            entity_type: node.entity_type,
            title: node.title,
            status: self.with_status.then_some(node.status),
            duplicate: node.duplicate.then_some(true),
            children_not_shown: (hidden > 0).then_some(hidden),
            children,
        })
    }
}

fn count_nodes(node: &TreeView) -> usize {
    1 + node.children.iter().map(count_nodes).sum::<usize>()
}
