//! Focus: where a session stands. One cursor in every root it works on; the stack is the path to it.
//!
//! Nothing here is a copy of the tree: which node is above which, and what is finished, is asked when it matters.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::NodeId;
use crate::node::{Node, Progress};
use crate::record::Recorded;
use crate::tree::Tree;

/// Where one session stands. A record, by session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Focus {
    pub active_root: Option<NodeId>,
    /// Every root it worked on, parked ones too.
    pub roots: BTreeMap<NodeId, RootFocus>,
}

/// Where a session stands in one root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootFocus {
    pub cursor: NodeId,
    /// Where it was before, the latest last, each once.
    #[serde(default)]
    pub visited: Vec<NodeId>,
}

impl Recorded for Focus {
    const KIND: &'static str = "focus";
}

/// So many nodes can be gone back to.
const MOST_VISITED: usize = 64;

/// A move that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoveRefused {
    #[error("there is nothing to leave: no node is entered")]
    Nowhere,
    #[error("`{0}` was not visited before: there is no way back to it")]
    NotVisited(String),
    #[error("`{0}` is no root this session has worked on")]
    NoSuchRoot(String),
}

/// Where leaving a node led.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Nodes that are complete now because all below them is, from the bottom up.
    pub completed: Vec<NodeId>,
    /// A node that would be complete, but what proves it is missing.
    pub unproved: Option<NodeId>,
    /// The whole root is done.
    pub finished: bool,
}

impl Focus {
    /// Returns the node the session stands at.
    #[must_use]
    pub fn cursor(&self) -> Option<NodeId> {
        self.roots.get(&self.active_root?).map(|root| root.cursor)
    }

    /// Returns the nodes from the root down to the cursor.
    #[must_use]
    pub fn stack<'t>(&self, tree: &'t Tree) -> Vec<&'t Node> {
        self.cursor()
            .map_or_else(Vec::new, |cursor| path_to(tree, cursor))
    }

    /// Goes to a node: a branch of the same root, or another root; the one that is left stays as it is.
    pub fn enter(&mut self, tree: &Tree, node: NodeId) {
        let root = root_of(tree, node);
        self.move_to(root, node);
    }

    /// Goes back to a node on the stack or one that was visited before, in any root.
    ///
    /// # Errors
    /// [`MoveRefused::NotVisited`].
    pub fn back(&mut self, tree: &Tree, node: &Node) -> Result<(), MoveRefused> {
        let root = root_of(tree, node.id);
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

    /// Leaves the active root as it is.
    ///
    /// # Errors
    /// [`MoveRefused::Nowhere`].
    pub fn park(&mut self) -> Result<NodeId, MoveRefused> {
        self.active_root.take().ok_or(MoveRefused::Nowhere)
    }

    /// Goes on in a root where it was left; a root that is new is entered at its top.
    ///
    /// # Errors
    /// [`MoveRefused::NoSuchRoot`] when the node is no root.
    pub fn switch(&mut self, tree: &Tree, root: &Node) -> Result<(), MoveRefused> {
        if root_of(tree, root.id) != root.id {
            return Err(MoveRefused::NoSuchRoot(root.alias.clone()));
        }
        // A cursor whose node is gone leads nowhere.
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

    /// Leaves the node: up, or, when it is finished, on to the next unfinished sibling, completing what is above it
    /// when nothing below is left. `proved` says whether a node may count as complete.
    ///
    /// # Errors
    /// [`MoveRefused::Nowhere`].
    pub fn exit(
        &mut self,
        tree: &Tree,
        proved: &dyn Fn(&Node) -> bool,
    ) -> Result<Left, MoveRefused> {
        let (Some(root), Some(cursor)) = (self.active_root, self.cursor()) else {
            return Err(MoveRefused::Nowhere);
        };
        let mut left = Left::default();
        let mut at = cursor;
        loop {
            let Some(node) = tree.get(at) else {
                self.move_to(root, root);
                return Ok(left);
            };
            let is_done = |id: NodeId, left: &Left| {
                left.completed.contains(&id)
                    || tree
                        .get(id)
                        .is_some_and(|node| node.progress == Progress::Complete)
            };
            let done = is_done(at, &left);
            let Some(parent) = tree.parent(node) else {
                left.finished = done;
                self.move_to(root, at);
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
            let after = siblings
                .iter()
                .skip(place + 1)
                .chain(siblings.iter().take(place));
            if let Some(next) = after.copied().find(|sibling| !is_done(*sibling, &left)) {
                self.move_to(root, next);
                return Ok(left);
            }
            if parent.progress != Progress::Complete {
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

    /// Puts the cursor of a root somewhere and makes it the active one.
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
        let surplus = known.visited.len().saturating_sub(MOST_VISITED);
        known.visited.drain(..surplus);
        self.active_root = Some(root);
    }
}

/// Returns the top of a node's tree.
#[must_use]
pub fn root_of(tree: &Tree, node: NodeId) -> NodeId {
    path_to(tree, node).first().map_or(node, |root| root.id)
}

/// Returns the nodes from the root down to a node.
fn path_to(tree: &Tree, node: NodeId) -> Vec<&Node> {
    let Some(node) = tree.get(node) else {
        return Vec::new();
    };
    let mut path = tree.ancestors(node);
    path.reverse();
    path.push(node);
    path
}
