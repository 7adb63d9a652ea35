//! Exchange format of a trail: the tree with the field names of the first design, and the flat
//! format before it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BranchSummary, TrailLevel, node_text};
use crate::ids::NodeId;
use crate::node::{Node, Progress};
use crate::stamp::{self, Stamp};
use crate::time::Timestamp;
use crate::tree::Tree;

/// A trail: `version`, `root`, and `cursor`, the id of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HierarchyTree {
    #[serde(default = "one")]
    pub version: u32,
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub root: Option<HierarchyNode>,
    pub cursor: Option<String>,
}

/// Returns the format version of files that do not name one.
fn one() -> u32 {
    1
}

/// One node. Times are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HierarchyNode {
    pub id: String,
    pub level: TrailLevel,
    pub content: String,
    pub status: Progress,
    pub created: i64,
    pub stamp: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    #[serde(default)]
    pub children: Vec<HierarchyNode>,
}

/// Summaries of pruned branches, by the alias of their parent.
pub type BranchSummaries = BTreeMap<String, BranchSummary>;

impl HierarchyTree {
    /// Returns a trail without nodes.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            version: 1,
            root: None,
            cursor: None,
        }
    }

    /// Exports the subtree at `root`.
    #[must_use]
    pub fn from_tree(
        tree: &Tree,
        root: NodeId,
        cursor: Option<NodeId>,
        summaries: &BranchSummaries,
    ) -> Self {
        Self {
            version: 1,
            root: tree
                .get(root)
                .and_then(|node| export_node(tree, node, summaries)),
            cursor: cursor
                .and_then(|id| tree.get(id))
                .map(|node| node.alias.clone()),
        }
    }

    /// Returns every node in preorder, with its depth.
    #[must_use]
    pub fn preorder_nodes(&self) -> Vec<(usize, &HierarchyNode)> {
        let mut found = Vec::new();
        let mut stack: Vec<(usize, &HierarchyNode)> =
            self.root.iter().map(|root| (0, root)).collect();
        while let Some((depth, node)) = stack.pop() {
            found.push((depth, node));
            // Reversed, because the stack pops the last one first.
            stack.extend(node.children.iter().rev().map(|child| (depth + 1, child)));
        }
        found
    }
}

impl HierarchyTree {
    /// Adds the work at a ticket to a trail whose intent is the ticket: its children and scenarios, and
    /// the cursor, unless something was mapped that is more precise.
    #[must_use]
    pub fn with_work(mut self, work: Self) -> Self {
        let Some(root) = &mut self.root else {
            return work;
        };
        if self.cursor.as_ref() == Some(&root.id) && root.status != Progress::Complete {
            let mut below = work.root.iter().flat_map(|root| &root.children);
            if below.any(|child| Some(&child.id) == work.cursor.as_ref()) {
                self.cursor = work.cursor;
            }
        }
        root.children
            .extend(work.root.into_iter().flat_map(|root| root.children));
        self
    }
}

impl HierarchyNode {
    /// Returns a ticket or a scenario as a node of a trail; its path is both id and stamp.
    /// `checkpoint` is its last commit.
    #[must_use]
    pub fn from_work(
        node: &Node,
        path: &str,
        level: TrailLevel,
        checkpoint: Option<String>,
    ) -> Self {
        Self {
            id: path.to_owned(),
            level,
            content: node
                .description
                .title
                .as_ref()
                .unwrap_or(&node.alias)
                .clone(),
            status: node.progress,
            created: node.created_at.as_millis(),
            stamp: path.to_owned(),
            completed: (node.progress == Progress::Complete).then(|| node.updated_at.as_millis()),
            summary: checkpoint,
            children: Vec::new(),
        }
    }
}

/// Exports a node with everything below it; `None` for a node of another profile.
fn export_node(tree: &Tree, node: &Node, summaries: &BranchSummaries) -> Option<HierarchyNode> {
    Some(HierarchyNode {
        id: node.alias.clone(),
        level: TrailLevel::from_word(&node.level)?,
        content: node_text(node).to_owned(),
        status: node.progress,
        created: node.created_at.as_millis(),
        stamp: stamp::stamp_in_name(&node.alias)
            .map(|stamp| stamp.to_string())
            .unwrap_or_default(),
        // Nodes have no completion time of their own; completing is the last change of one.
        completed: (node.progress == Progress::Complete).then(|| node.updated_at.as_millis()),
        summary: summaries
            .get(&node.alias)
            .map(|summary| summary.text.clone()),
        children: tree
            .children(node.id)
            .filter_map(|child| export_node(tree, child, summaries))
            .collect(),
    })
}

/// The flat format: three texts, each overwritten by the next of its kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlatTrail {
    pub trajectory: String,
    pub tactic: String,
    pub action: String,
}

/// Converts the flat format to a tree; `None` if it is empty.
#[must_use]
pub fn tree_from_flat(flat: &FlatTrail, now: Timestamp) -> Option<HierarchyTree> {
    let stamp = Stamp::from_timestamp(now);
    let texts = [&flat.trajectory, &flat.tactic, &flat.action];
    let mut nodes: Vec<HierarchyNode> = TrailLevel::ALL
        .into_iter()
        .zip(texts)
        // An empty level ends the chain: an action without a tactic has no parent to go below.
        .map_while(|(level, text)| {
            let text = super::normalize_trail_line(text);
            (!text.is_empty()).then(|| HierarchyNode {
                id: level.node_alias(&stamp),
                level,
                content: text,
                status: Progress::Active,
                created: now.as_millis(),
                stamp: stamp.to_string(),
                completed: None,
                summary: None,
                children: Vec::new(),
            })
        })
        .collect();
    let cursor = nodes.last().map(|node| node.id.clone());
    // From the bottom up, because a node owns its children.
    let mut below = nodes.pop()?;
    while let Some(mut above) = nodes.pop() {
        above.children.push(below);
        below = above;
    }
    Some(HierarchyTree {
        version: 1,
        root: Some(below),
        cursor,
    })
}
