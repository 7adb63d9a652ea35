//! Pruning: a finished branch is taken out, and a line about it stays with its parent.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::content;
use crate::ids::NodeId;
use crate::node::{Node, Progress};
use crate::record::Recorded;
use crate::tree::Tree;

/// What is said of the branches that were taken out below a node; kept under the node's alias.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// One line a branch, the newest last.
    pub text: String,
    /// How many branches there were in all.
    pub branches: usize,
}

impl Recorded for Summary {
    const KIND: &'static str = "trail-summary";
}

/// So many lines of a summary are kept; older ones are only counted.
const MOST_LINES: usize = 12;

impl Summary {
    /// Returns the summary with lines about more branches.
    #[must_use]
    pub fn with(&self, lines: Vec<String>) -> Self {
        let branches = self.branches + lines.len();
        let known = self
            .text
            .lines()
            .filter(|line| !line.starts_with(COUNTED))
            .map(str::to_owned);
        let all: Vec<String> = known.chain(lines).collect();
        let kept = &all[all.len().saturating_sub(MOST_LINES)..];
        let counted = branches - kept.len();
        let first = (counted > 0).then(|| format!("{COUNTED} {counted}"));
        let text = first
            .into_iter()
            .chain(kept.iter().cloned())
            .collect::<Vec<_>>()
            .join("\n");
        Self { text, branches }
    }
}

const COUNTED: &str = "earlier branches:";

/// What pruning does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Nodes to take out, each before its parent.
    pub removed: Vec<NodeId>,
    /// For each parent, a line about each of its branches.
    pub lines: Vec<(NodeId, Vec<String>)>,
}

impl Pruned {
    /// Returns how many branches are taken out.
    #[must_use]
    pub fn branches(&self) -> usize {
        self.lines.iter().map(|(_, lines)| lines.len()).sum()
    }
}

/// Returns what can be taken out below `root`: branches that are complete from top to bottom and do not hold the cursor.
#[must_use]
pub fn prune(tree: &Tree, root: NodeId, cursor: Option<NodeId>) -> Pruned {
    let mut pruned = Pruned::default();
    let mut gone: HashSet<NodeId> = HashSet::new();
    for node in tree.preorder(root) {
        // A whole branch goes with its top.
        if gone.contains(&node.id) {
            continue;
        }
        let mut lines = Vec::new();
        for child in tree.children(node.id) {
            let branch = tree.preorder(child.id);
            let done = branch
                .iter()
                .all(|one| one.progress == Progress::Complete && Some(one.id) != cursor);
            if done {
                lines.push(line(child, branch.len() - 1));
                pruned.removed.extend(branch.iter().rev().map(|one| one.id));
                gone.extend(branch.iter().map(|one| one.id));
            }
        }
        if !lines.is_empty() {
            pruned.lines.push((node.id, lines));
        }
    }
    pruned
}

fn line(node: &Node, below: usize) -> String {
    let steps = match below {
        0 => String::new(),
        1 => " (1 step)".to_owned(),
        more => format!(" ({more} steps)"),
    };
    format!(
        "{} — {}{steps}",
        node.alias.rsplit('_').next().unwrap_or_default(),
        content(node)
    )
}

/// Counts the finished branches among the nodes right below what is on the way to the cursor.
#[must_use]
pub fn complete_branches<'n>(children: impl IntoIterator<Item = &'n Node>) -> usize {
    children
        .into_iter()
        .filter(|child| child.progress == Progress::Complete)
        .count()
}
