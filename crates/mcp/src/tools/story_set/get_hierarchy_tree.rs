//! The tool `get_hierarchy_tree`.

use application::show_tree::show_tree;
use application::views::TreeView;
use application::{Context, Failure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::arguments::read;
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const GET_HIERARCHY_TREE: Tool = Tool {
    name: "get_hierarchy_tree",
    description: "Use to see how plans hang together, below one or all. Cut at depth and limit; ask for a part next.",
    set: Toolset::Story,
    hints: Hints::READS,
    input: |_| {
        schema::object(vec![
            ("act_id", schema::text("top; all without it"), false),
            ("include_status", json!({ "type": "boolean" }), false),
            (
                "depth",
                json!({ "type": "integer", "minimum": 1, "maximum": 10 }),
                false,
            ),
            (
                "limit",
                json!({ "type": "integer", "minimum": 1, "maximum": 5000 }),
                false,
            ),
        ])
    },
    output: || {
        schema::result(&[
            ("tree", "list of object"),
            ("nodes", "integer"),
            ("cut", "integer"),
        ])
    },
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(default)]
    act_id: Option<String>,
    #[serde(default = "default_include_status")]
    include_status: bool,
    #[serde(default = "default_depth")]
    depth: usize,
    #[serde(default = "default_limit")]
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

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let asked: Arguments = read(arguments)?;
    let words: Vec<String> = asked.act_id.iter().cloned().collect();
    let forest = show_tree(ctx, &words)?;
    let mut cutting = Cutting {
        left: asked.limit,
        shown: 0,
        cut: 0,
        status: asked.include_status,
    };
    let tree: Vec<Value> = forest
        .iter()
        .filter_map(|node| cutting.shown(node, asked.depth))
        .collect();
    Ok(json!({ "tree": tree, "nodes": cutting.shown, "cut": cutting.cut }))
}

/// Remaining budget of nodes, and what was left out.
struct Cutting {
    left: usize,
    shown: usize,
    cut: usize,
    status: bool,
}

impl Cutting {
    fn shown(&mut self, node: &TreeView, depth: usize) -> Option<Value> {
        if self.left == 0 || depth == 0 {
            // Counted with everything below, so that the model knows how much it does not see.
            self.cut += size(node);
            return None;
        }
        self.left -= 1;
        self.shown += 1;
        let mut value = json!({ "entity_id": node.entity_id, "entity_type": node.entity_type });
        if let Some(title) = &node.title {
            value["title"] = json!(title);
        }
        // Optional, because statuses double the size of a large tree.
        if self.status {
            value["status"] = json!(node.status);
        }
        let children: Vec<Value> = node
            .children
            .iter()
            .filter_map(|child| self.shown(child, depth - 1))
            .collect();
        // Per node, so that the model knows where to ask for more.
        if children.len() < node.children.len() {
            value["children_not_shown"] = json!(node.children.len() - children.len());
        }
        if !children.is_empty() {
            value["children"] = Value::Array(children);
        }
        Some(value)
    }
}

fn size(node: &TreeView) -> usize {
    1 + node.children.iter().map(size).sum::<usize>()
}
