//! A trail as it is exchanged: the tree of the first design, field by field, and the flat form before it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Summary, TrailLevel, content};
use crate::ids::NodeId;
use crate::node::{Node, Progress};
use crate::stamp::{self, Stamp};
use crate::time::Timestamp;
use crate::tree::Tree;

/// A trail: `version`, `root` and the `cursor`, which is a node's id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HierarchyTree {
    #[serde(default = "one")]
    pub version: u32,
    pub root: Option<HierarchyNode>,
    pub cursor: Option<String>,
}

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

/// What is said of nodes whose branches were pruned.
pub type Summaries = BTreeMap<String, Summary>;

impl HierarchyTree {
    /// Returns the part of a tree below `root`.
    #[must_use]
    pub fn of(tree: &Tree, root: NodeId, cursor: Option<NodeId>, summaries: &Summaries) -> Self {
        Self {
            version: 1,
            root: tree
                .get(root)
                .and_then(|node| exchanged(tree, node, summaries)),
            cursor: cursor
                .and_then(|id| tree.get(id))
                .map(|node| node.alias.clone()),
        }
    }

    /// Returns every node, each before its children, with its depth.
    #[must_use]
    pub fn nodes(&self) -> Vec<(usize, &HierarchyNode)> {
        let mut found = Vec::new();
        let mut stack: Vec<(usize, &HierarchyNode)> =
            self.root.iter().map(|root| (0, root)).collect();
        while let Some((depth, node)) = stack.pop() {
            found.push((depth, node));
            stack.extend(node.children.iter().rev().map(|child| (depth + 1, child)));
        }
        found
    }
}

fn exchanged(tree: &Tree, node: &Node, summaries: &Summaries) -> Option<HierarchyNode> {
    Some(HierarchyNode {
        id: node.alias.clone(),
        level: TrailLevel::from_word(&node.level)?,
        content: content(node).to_owned(),
        status: node.progress,
        created: node.created_at.as_millis(),
        stamp: stamp::in_name(&node.alias)
            .map(|stamp| stamp.to_string())
            .unwrap_or_default(),
        completed: (node.progress == Progress::Complete).then(|| node.updated_at.as_millis()),
        summary: summaries
            .get(&node.alias)
            .map(|summary| summary.text.clone()),
        children: tree
            .children(node.id)
            .filter_map(|child| exchanged(tree, child, summaries))
            .collect(),
    })
}

/// The flat form: three texts, each overwritten by the next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlatBrain {
    pub trajectory: String,
    pub tactic: String,
    pub action: String,
}

/// Makes a tree of the flat form; `None` when it says nothing.
#[must_use]
pub fn from_flat(flat: &FlatBrain, now: Timestamp) -> Option<HierarchyTree> {
    let stamp = Stamp::at(now);
    let texts = [&flat.trajectory, &flat.tactic, &flat.action];
    let mut nodes: Vec<HierarchyNode> = TrailLevel::ALL
        .into_iter()
        .zip(texts)
        // A level that says nothing ends the chain: nothing stands below nothing.
        .map_while(|(level, text)| {
            let text = super::one_line(text);
            (!text.is_empty()).then(|| HierarchyNode {
                id: level.alias(&stamp),
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
