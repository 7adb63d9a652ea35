//! Pruning: removes finished branches of a trail and keeps one line about each at its parent.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::node_text;
use crate::ids::NodeId;
use crate::node::{Node, Progress};
use crate::record::Recorded;
use crate::tree::Tree;

/// Summary of the branches pruned below a node. A record, keyed by the node's alias.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchSummary {
    /// One line per branch, the newest last.
    pub text: String,
    /// Total number of pruned branches.
    pub branches: usize,
}

impl Recorded for BranchSummary {
    const KIND: &'static str = "trail-summary";
}

/// Maximum number of lines in a summary; older branches are only counted.
const MAX_SUMMARY_LINES: usize = 12;

impl BranchSummary {
    /// Returns the summary extended by lines about more branches.
    #[must_use]
    pub fn with_branches(&self, lines: Vec<String>) -> Self {
        let branches = self.branches + lines.len();
        // The count is the text's first line, in the form it is exchanged in; it is computed again
        // below.
        let known = self
            .text
            .lines()
            .filter(|line| !line.starts_with(EARLIER_BRANCHES))
            .map(str::to_owned);
        let all: Vec<String> = known.chain(lines).collect();
        let kept = &all[all.len().saturating_sub(MAX_SUMMARY_LINES)..];
        let counted = branches - kept.len();
        let first = (counted > 0).then(|| format!("{EARLIER_BRANCHES} {counted}"));
        let text = first
            .into_iter()
            .chain(kept.iter().cloned())
            .collect::<Vec<_>>()
            .join("\n");
        Self { text, branches }
    }
}

/// Start of the line that counts older branches.
const EARLIER_BRANCHES: &str = "earlier branches:";

/// The plan of a pruning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PruningPlan {
    /// Nodes to remove, children before their parents.
    pub removed: Vec<NodeId>,
    /// Per parent, one line about each removed branch.
    pub lines: Vec<(NodeId, Vec<String>)>,
}

impl PruningPlan {
    /// Returns the number of removed branches.
    #[must_use]
    pub fn branch_count(&self) -> usize {
        self.lines.iter().map(|(_, lines)| lines.len()).sum()
    }
}

/// Plans the pruning below `root`: branches that are complete from top to bottom and do not contain
/// the cursor.
#[must_use]
pub fn plan_branch_pruning(tree: &Tree, root: NodeId, cursor: Option<NodeId>) -> PruningPlan {
    let mut pruned = PruningPlan::default();
    let mut gone: HashSet<NodeId> = HashSet::new();
    for node in tree.subtree_preorder(root) {
        // Already removed with the branch above it, which has the one line about it.
        if gone.contains(&node.id) {
            continue;
        }
        let mut lines = Vec::new();
        for child in tree.children(node.id) {
            let branch = tree.subtree_preorder(child.id);
            // The cursor's branch stays even if it is complete: the session would lose its
            // position.
            let done = branch
                .iter()
                .all(|one| one.progress == Progress::Complete && Some(one.id) != cursor);
            if done {
                lines.push(summary_line(child, branch.len() - 1));
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

/// Returns the summary line of a branch.
fn summary_line(node: &Node, below: usize) -> String {
    let steps = match below {
        0 => String::new(),
        1 => " (1 step)".to_owned(),
        more => format!(" ({more} steps)"),
    };
    format!(
        "{} — {}{steps}",
        node.alias.rsplit('_').next().unwrap_or_default(),
        node_text(node)
    )
}

/// Counts the complete nodes among `children`: an estimate of what could be pruned, cheap enough
/// for every hook.
#[must_use]
pub fn count_complete_branches<'n>(children: impl IntoIterator<Item = &'n Node>) -> usize {
    children
        .into_iter()
        .filter(|child| child.progress == Progress::Complete)
        .count()
}
