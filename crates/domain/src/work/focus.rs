//! Focus: a session's position in the tree. One cursor per root; the stack is the path to it.
//!
//! Nothing of the tree is copied: which node is above which, and what is finished, is looked up
//! when it is needed, so a focus cannot become stale.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::fact::Fact;
use crate::ids::NodeId;
use crate::node::{Node, Progress};
use crate::record::Recorded;
use crate::tree::Tree;
use crate::work::history::{FocusMark, HistoryMark};

/// The position of one session. A record, keyed by session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Focus {
    pub active_root: Option<NodeId>,
    /// Every root the session worked on, parked ones included.
    pub roots: BTreeMap<NodeId, RootFocus>,
    /// The latest moves, oldest first: which commits belong to which node follows from them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<FocusMark>,
}

/// A session's position in one root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootFocus {
    pub cursor: NodeId,
    /// Earlier positions, most recent last, without duplicates.
    #[serde(default)]
    pub visited: Vec<NodeId>,
}

impl Recorded for Focus {
    const KIND: &'static str = "focus";
}

/// Maximum number of earlier positions that are remembered per root.
const MAX_VISITED_NODES: usize = 64;

/// Maximum number of moves that are remembered. Commits from before the oldest belong to no node.
const MAX_FOCUS_MARKS: usize = 64;

/// A move that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoveRefused {
    #[error("there is nothing to leave: no node is entered")]
    Nowhere,
    #[error("`{0}` was not visited before, so there is no way back to it")]
    NotVisited(String),
    #[error("`{0}` is not a root")]
    NoSuchRoot(String),
    #[error("`{0}` is not complete, and it has no parent to return to")]
    UnfinishedRoot(String),
}

/// A decided move: the focus after it, and the facts that follow from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecidedMove {
    pub focus: Focus,
    /// The move in words, for the log.
    pub summary: String,
    /// Changes of progress: a node begins with being entered, ancestors are completed by leaving.
    pub facts: Vec<Fact>,
    /// Paths of the completed nodes, from the bottom up.
    pub completed: Vec<String>,
    /// A node that would be complete but lacks evidence.
    pub unproved: Option<NodeId>,
}

impl DecidedMove {
    fn without_facts(focus: Focus, summary: String) -> Self {
        Self {
            focus,
            summary,
            facts: Vec::new(),
            completed: Vec::new(),
            unproved: None,
        }
    }
}

/// Decides to enter a node. Entering is the start of work, so a pending node becomes active.
#[must_use]
pub fn decide_enter(mut focus: Focus, tree: &Tree, node: &Node) -> DecidedMove {
    focus.enter_node(tree, node.id);
    let mut decided = DecidedMove::without_facts(focus, format!("enter {}", tree.alias_path(node)));
    if node.progress == Progress::Pending {
        decided.facts.push(progress_fact(node, Progress::Active));
    }
    decided
}

/// Decides to go back to a node.
///
/// # Errors
/// [`MoveRefused::NotVisited`].
pub fn decide_back(mut focus: Focus, tree: &Tree, node: &Node) -> Result<DecidedMove, MoveRefused> {
    focus.go_back(tree, node)?;
    let summary = format!("back to {}", tree.alias_path(node));
    Ok(DecidedMove::without_facts(focus, summary))
}

/// Decides to switch to another root.
///
/// # Errors
/// [`MoveRefused::NoSuchRoot`].
pub fn decide_switch(
    mut focus: Focus,
    tree: &Tree,
    root: &Node,
) -> Result<DecidedMove, MoveRefused> {
    focus.switch_root(tree, root)?;
    let summary = format!("switch to {}", tree.alias_path(root));
    Ok(DecidedMove::without_facts(focus, summary))
}

/// Decides to park the active root.
///
/// # Errors
/// [`MoveRefused::Nowhere`].
pub fn decide_park(mut focus: Focus, tree: &Tree) -> Result<DecidedMove, MoveRefused> {
    let root = focus.park_root()?;
    let alias = tree.get(root).map_or("?", |node| node.alias.as_str());
    Ok(DecidedMove::without_facts(focus, format!("park {alias}")))
}

/// Decides to leave the current node; `proved` tells whether an ancestor has its evidence.
///
/// # Errors
/// [`MoveRefused::Nowhere`], [`MoveRefused::UnfinishedRoot`].
pub fn decide_exit(
    mut focus: Focus,
    tree: &Tree,
    proved: &dyn Fn(&Node) -> bool,
) -> Result<DecidedMove, MoveRefused> {
    let before = focus.cursor();
    let from = before
        .and_then(|id| tree.get(id))
        .map(|node| tree.alias_path(node))
        .unwrap_or_default();
    let left = focus.leave_node(tree, proved)?;
    // Without this check leaving an unfinished root succeeded and changed nothing.
    if focus.cursor() == before && left.completed.is_empty() && left.unproved.is_none() {
        return Err(MoveRefused::UnfinishedRoot(from));
    }
    let mut decided = DecidedMove::without_facts(focus, format!("leave {from}"));
    decided.unproved = left.unproved;
    for node in left.completed.iter().filter_map(|id| tree.get(*id)) {
        decided.facts.push(progress_fact(node, Progress::Complete));
        decided.completed.push(tree.alias_path(node));
    }
    Ok(decided)
}

fn progress_fact(node: &Node, after: Progress) -> Fact {
    Fact::ProgressChanged {
        node: node.id,
        before: node.progress,
        after,
    }
}

/// The result of leaving a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaveOutcome {
    /// Nodes that became complete because everything below them is, from the bottom up.
    pub completed: Vec<NodeId>,
    /// A node that would be complete but lacks evidence.
    pub unproved: Option<NodeId>,
    /// The whole root is complete.
    pub finished: bool,
}

impl Focus {
    /// Returns the session's current node.
    #[must_use]
    pub fn cursor(&self) -> Option<NodeId> {
        self.roots.get(&self.active_root?).map(|root| root.cursor)
    }

    /// Remembers where in the history the session moved to its present node.
    pub fn mark_move(&mut self, made: HistoryMark) {
        let cursor = self.cursor();
        if self.marks.last().map(|last| last.cursor) == Some(cursor) {
            return;
        }
        self.marks.push(FocusMark { made, cursor });
        let surplus = self.marks.len().saturating_sub(MAX_FOCUS_MARKS);
        self.marks.drain(..surplus);
    }

    /// Returns the nodes from the root down to the cursor.
    #[must_use]
    pub fn stack<'t>(&self, tree: &'t Tree) -> Vec<&'t Node> {
        self.cursor()
            .map_or_else(Vec::new, |cursor| path_to(tree, cursor))
    }

    /// Moves to a node of the same or of another root. The root that is left keeps its cursor.
    pub fn enter_node(&mut self, tree: &Tree, node: NodeId) {
        let root = find_root(tree, node);
        self.move_to(root, node);
    }

    /// Moves back to a node on the stack or to one visited before, in any root.
    ///
    /// # Errors
    /// [`MoveRefused::NotVisited`].
    pub fn go_back(&mut self, tree: &Tree, node: &Node) -> Result<(), MoveRefused> {
        let root = find_root(tree, node.id);
        // Nodes above the cursor count as visited, although the session may have entered below them
        // directly.
        let was_there = self.roots.get(&root).is_some_and(|known| {
            known.visited.contains(&node.id)
                || path_to(tree, known.cursor)
                    .iter()
                    .any(|above| above.id == node.id)
        });
        if !was_there {
            return Err(MoveRefused::NotVisited(node.alias.clone()));
        }
        self.move_to(root, node.id);
        Ok(())
    }

    /// Parks the active root: it keeps its cursor and is no longer active.
    ///
    /// # Errors
    /// [`MoveRefused::Nowhere`].
    pub fn park_root(&mut self) -> Result<NodeId, MoveRefused> {
        self.active_root.take().ok_or(MoveRefused::Nowhere)
    }

    /// Resumes a root at its cursor; a root the session has not worked on is entered at its top.
    ///
    /// # Errors
    /// [`MoveRefused::NoSuchRoot`] when the node is not a root.
    pub fn switch_root(&mut self, tree: &Tree, root: &Node) -> Result<(), MoveRefused> {
        if find_root(tree, root.id) != root.id {
            return Err(MoveRefused::NoSuchRoot(root.alias.clone()));
        }
        // The cursor's node may have been deleted by another session.
        let known = self
            .roots
            .get(&root.id)
            .map(|known| known.cursor)
            .filter(|cursor| tree.get(*cursor).is_some());
        match known {
            Some(_) => self.active_root = Some(root.id),
            None => self.move_to(root.id, root.id),
        }
        Ok(())
    }

    /// Leaves the current node: up if it is unfinished, otherwise on to the next unfinished
    /// sibling. Ancestors whose last open child this was become complete, if `proved` accepts them.
    ///
    /// # Errors
    /// [`MoveRefused::Nowhere`].
    pub fn leave_node(
        &mut self,
        tree: &Tree,
        proved: &dyn Fn(&Node) -> bool,
    ) -> Result<LeaveOutcome, MoveRefused> {
        let (Some(root), Some(cursor)) = (self.active_root, self.cursor()) else {
            return Err(MoveRefused::Nowhere);
        };
        let mut left = LeaveOutcome::default();
        let mut at = cursor;
        // Each round goes up one level, so the loop ends at the root at the latest.
        loop {
            let Some(node) = tree.get(at) else {
                // The node was deleted meanwhile; the root is the nearest place that is known to
                // exist.
                self.move_to(root, root);
                return Ok(left);
            };
            // `completed` is consulted too, because the facts of this very move are not in the tree
            // yet.
            let is_done = |id: NodeId, left: &LeaveOutcome| {
                left.completed.contains(&id)
                    || tree
                        .get(id)
                        .is_some_and(|node| node.progress == Progress::Complete)
            };
            let done = is_done(at, &left);
            let Some(parent) = tree.parent_of(node) else {
                left.finished = done;
                self.move_to(root, at);
                // A finished root is left, but its cursor stays, so that `switch` can reopen it.
                if done {
                    self.active_root = None;
                }
                return Ok(left);
            };
            if !done {
                self.move_to(root, parent.id);
                return Ok(left);
            }
            let siblings: Vec<NodeId> =
                tree.children(parent.id).map(|sibling| sibling.id).collect();
            let place = siblings
                .iter()
                .position(|sibling| *sibling == at)
                .unwrap_or_default();
            // Wraps around: siblings before this one may have been skipped.
            let after = siblings
                .iter()
                .skip(place + 1)
                .chain(siblings.iter().take(place));
            if let Some(next) = after.copied().find(|sibling| !is_done(*sibling, &left)) {
                self.move_to(root, next);
                return Ok(left);
            }
            if parent.progress != Progress::Complete {
                // Stops at the parent instead of skipping it: its evidence is the next thing to do.
                if !proved(parent) {
                    left.unproved = Some(parent.id);
                    self.move_to(root, parent.id);
                    return Ok(left);
                }
                left.completed.push(parent.id);
            }
            at = parent.id;
        }
    }

    /// Sets the cursor of a root and makes the root active.
    fn move_to(&mut self, root: NodeId, node: NodeId) {
        let known = self.roots.entry(root).or_insert_with(|| RootFocus {
            cursor: node,
            visited: Vec::new(),
        });
        let left = std::mem::replace(&mut known.cursor, node);
        known
            .visited
            .retain(|visited| *visited != node && *visited != left);
        if left != node {
            known.visited.push(left);
        }
        // The focus is one record that is rewritten with every move, so its size is bounded.
        let surplus = known.visited.len().saturating_sub(MAX_VISITED_NODES);
        known.visited.drain(..surplus);
        self.active_root = Some(root);
    }
}

/// Returns the root of a node's tree; the node itself if it is unknown.
#[must_use]
pub fn find_root(tree: &Tree, node: NodeId) -> NodeId {
    path_to(tree, node).first().map_or(node, |root| root.id)
}

/// Returns the nodes from the root down to a node, the node included.
fn path_to(tree: &Tree, node: NodeId) -> Vec<&Node> {
    let Some(node) = tree.get(node) else {
        return Vec::new();
    };
    let mut path = tree.ancestors(node);
    path.reverse();
    path.push(node);
    path
}
