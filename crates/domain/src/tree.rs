//! In-memory tree of nodes: a whole project, or the part of it a decision needs.
//!
//! Copy-on-write: clones share nodes and links until one of them changes. Records, versions and
//! backups are not part of it, so facts about those are accepted and ignored.

mod node_pages;

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use self::node_pages::NodePages;
use crate::cascade::StatusChangeGroup;
use crate::fact::{Backup, Fact, NodeTable, apply_fact};
use crate::ids::{NodeId, OperationId};
use crate::node::{Content, Node};
use crate::record::RecordKey;
use crate::status::StatusInputs;
use crate::time::Timestamp;

/// Nodes with their sibling order. A node whose parent is not in the tree counts as a root.
///
/// Cloning is cheap: unchanged parts are shared (copy-on-write).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    nodes: NodePages,
    links: Arc<TreeLinks>,
}

/// Child lists and roots, in sibling order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct TreeLinks {
    children: HashMap<NodeId, Vec<NodeId>>,
    tops: Vec<NodeId>,
}

/// A fact does not match the tree it is applied to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FactMismatch(pub String);

impl Tree {
    /// Builds the tree from its nodes, in any order.
    #[must_use]
    pub fn new(nodes: impl IntoIterator<Item = Node>) -> Self {
        let mut tree = Self::default();
        for node in nodes {
            tree.nodes.insert(node);
        }
        // Once at the end: inserting each node among its siblings would need its parent first.
        tree.rebuild_links();
        tree
    }

    /// Returns a node.
    #[must_use]
    pub fn get(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id)
    }

    /// Returns every node, by id.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter()
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether the tree has no nodes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the nodes whose parent is not in this tree, in order.
    pub fn root_nodes(&self) -> impl Iterator<Item = &Node> {
        self.links.tops.iter().filter_map(|id| self.get(*id))
    }

    /// Returns a node's children, in order.
    pub fn children(&self, id: NodeId) -> impl Iterator<Item = &Node> {
        self.links
            .children
            .get(&id)
            .into_iter()
            .flatten()
            .filter_map(|child| self.get(*child))
    }

    /// Returns a node's parent.
    #[must_use]
    pub fn parent_of(&self, node: &Node) -> Option<&Node> {
        node.parent.and_then(|id| self.get(id))
    }

    /// Returns the ancestors, from the parent up to the root.
    #[must_use]
    pub fn ancestors(&self, node: &Node) -> Vec<&Node> {
        let mut found: Vec<&Node> = Vec::new();
        let mut above = self.parent_of(node);
        while let Some(ancestor) = above {
            // A damaged tree may contain a cycle; without this check the walk would not end.
            if found.iter().any(|known| known.id == ancestor.id) {
                break;
            }
            found.push(ancestor);
            above = self.parent_of(ancestor);
        }
        found
    }

    /// Returns the path alias: `act-1/chapter-02`.
    #[must_use]
    pub fn alias_path(&self, node: &Node) -> String {
        let mut parts: Vec<&str> = self
            .ancestors(node)
            .iter()
            .map(|ancestor| ancestor.alias.as_str())
            .collect();
        parts.reverse();
        parts.push(&node.alias);
        parts.join("/")
    }

    /// Returns a node and its descendants, each before its children.
    #[must_use]
    pub fn subtree_preorder(&self, top: NodeId) -> Vec<&Node> {
        // Iterative: the depth comes from files, and recursion could overflow the stack before the
        // depth limit of the policy is checked.
        let mut found = Vec::new();
        let mut stack = vec![top];
        while let Some(id) = stack.pop() {
            let Some(node) = self.get(id) else { continue };
            found.push(node);
            // Reversed, because the stack returns the last one pushed first.
            stack.extend(self.links.children.get(&id).into_iter().flatten().rev());
            // More visits than nodes: a cycle.
            if found.len() > self.len() {
                break;
            }
        }
        found
    }

    /// Returns every node, each before its children.
    #[must_use]
    pub fn all_preorder(&self) -> Vec<&Node> {
        self.links
            .tops
            .iter()
            .flat_map(|top| self.subtree_preorder(*top))
            .collect()
    }

    /// Returns the status inputs of a node and its descendants, parents first.
    #[must_use]
    pub fn subtree_status_inputs(&self, top: NodeId) -> Vec<StatusInputs> {
        self.subtree_preorder(top)
            .into_iter()
            .map(Node::status_inputs)
            .collect()
    }

    /// Applies facts in order.
    ///
    /// # Errors
    /// [`Misfit`] when a fact does not match; the tree is then half changed and must be discarded.
    pub fn apply_facts<'a>(
        &mut self,
        facts: impl IntoIterator<Item = &'a Fact>,
        at: Timestamp,
    ) -> Result<(), FactMismatch> {
        facts
            .into_iter()
            .try_for_each(|fact| apply_fact(self, fact, at))
    }

    fn rebuild_links(&mut self) {
        let mut links = TreeLinks::default();
        for node in self.nodes.iter() {
            // Partial trees are normal, such as one subtree: a node whose parent was not loaded is
            // a root here, not an error.
            match node
                .parent
                .filter(|parent| self.nodes.get(*parent).is_some())
            {
                Some(parent) => links.children.entry(parent).or_default().push(node.id),
                None => links.tops.push(node.id),
            }
        }
        let TreeLinks { children, tops } = &mut links;
        children
            .values_mut()
            .chain([tops])
            .for_each(|siblings| siblings.sort_by(|a, b| self.compare_siblings(*a, *b)));
        self.links = Arc::new(links);
    }

    fn compare_siblings(&self, a: NodeId, b: NodeId) -> std::cmp::Ordering {
        match (self.get(a), self.get(b)) {
            (Some(a), Some(b)) => sibling_order(a, b),
            _ => a.cmp(&b),
        }
    }

    /// Returns the id of a node's parent, if that is in this tree.
    fn parent_in_tree(&self, node: NodeId) -> Option<NodeId> {
        let parent = self.get(node).and_then(|node| node.parent);
        parent.filter(|parent| self.get(*parent).is_some())
    }

    fn siblings_mut(&mut self, node: NodeId) -> &mut Vec<NodeId> {
        let parent = self.parent_in_tree(node);
        let links = Arc::make_mut(&mut self.links);
        match parent {
            Some(parent) => links.children.entry(parent).or_default(),
            None => &mut links.tops,
        }
    }

    /// Removes a node from its sibling list.
    fn detach_from_siblings(&mut self, id: NodeId) {
        let parent = self.parent_in_tree(id);
        let siblings = self.siblings_mut(id);
        siblings.retain(|sibling| *sibling != id);
        // An empty list would make this tree differ (`Eq`) from one that never had the child.
        if siblings.is_empty()
            && let Some(parent) = parent
        {
            Arc::make_mut(&mut self.links).children.remove(&parent);
        }
    }

    fn insert_among_siblings(&mut self, id: NodeId) {
        // Taken out for the binary search, because comparing siblings borrows the whole tree.
        let mut siblings = std::mem::take(self.siblings_mut(id));
        let at = siblings.partition_point(|other| self.compare_siblings(*other, id).is_lt());
        siblings.insert(at, id);
        *self.siblings_mut(id) = siblings;
    }
}

/// Compares siblings by profile, level, number, alias and id.
#[must_use]
pub fn sibling_order(a: &Node, b: &Node) -> std::cmp::Ordering {
    // `order` before the alias: `chapter-10` comes after `chapter-9`. The id makes the order total.
    (&a.profile, &a.level, a.order, &a.alias, a.id)
        .cmp(&(&b.profile, &b.level, b.order, &b.alias, b.id))
}

impl NodeTable for Tree {
    type Fault = FactMismatch;

    fn get_node(&mut self, id: NodeId) -> Result<Option<Node>, FactMismatch> {
        Ok(Tree::get(self, id).cloned())
    }

    fn insert_node(&mut self, node: Node) -> Result<(), FactMismatch> {
        let id = node.id;
        if let Some(parent) = node.parent
            && self.nodes.get(parent).is_none()
        {
            return Err(FactMismatch(format!(
                "`{}` added below {parent}, which does not exist",
                node.alias
            )));
        }
        if self.nodes.get(id).is_some() {
            return Err(FactMismatch(format!(
                "`{}` added with an id that is already in use",
                node.alias
            )));
        }
        self.nodes.insert(node);
        self.insert_among_siblings(id);
        Ok(())
    }

    fn replace_node(&mut self, before: &Node, after: Node) -> Result<(), FactMismatch> {
        // A new name is a new place among the siblings. Only then are they sorted again: a cascade
        // replaces thousands of nodes.
        let id = after.id;
        let is_renamed = (&before.alias, before.order) != (&after.alias, after.order);
        if is_renamed {
            self.detach_from_siblings(id);
        }
        match self.nodes.get_mut(id) {
            Some(node) => *node = after,
            None => {
                return Err(FactMismatch(format!(
                    "`{}` changed, but there is no such node",
                    after.alias
                )));
            }
        }
        if is_renamed {
            self.insert_among_siblings(id);
        }
        Ok(())
    }

    fn move_node_below(
        &mut self,
        node: &Node,
        parent: Option<NodeId>,
        at: Timestamp,
    ) -> Result<(), FactMismatch> {
        // Checked before anything is changed: a cycle would make `ancestors` and `preorder` useless
        // for the whole subtree.
        let mut above = parent;
        while let Some(id) = above {
            if id == node.id {
                return Err(FactMismatch(format!(
                    "`{}` would be its own ancestor",
                    node.alias
                )));
            }
            above = Self::get(self, id).and_then(|node| node.parent);
        }
        self.detach_from_siblings(node.id);
        match self.nodes.get_mut(node.id) {
            Some(node) => (node.parent, node.updated_at) = (parent, at),
            None => return Err(FactMismatch(format!("`{}` does not exist", node.alias))),
        }
        self.insert_among_siblings(node.id);
        Ok(())
    }

    fn remove_node(&mut self, id: NodeId) -> Result<(), FactMismatch> {
        if self
            .links
            .children
            .get(&id)
            .is_some_and(|children| !children.is_empty())
        {
            return Err(FactMismatch(format!("{id} removed while it has children")));
        }
        self.detach_from_siblings(id);
        self.nodes.remove(id);
        Ok(())
    }

    fn set_statuses(&mut self, group: &StatusChangeGroup) -> Result<(), FactMismatch> {
        for id in &group.nodes {
            match self.nodes.get_mut(*id) {
                Some(node) if node.standing == group.before => node.standing = group.after.clone(),
                Some(node) => {
                    return Err(FactMismatch(format!(
                        "the status of `{}` has changed since",
                        node.alias
                    )));
                }
                None => {
                    return Err(FactMismatch(format!(
                        "status of {id} changed, but there is no such node"
                    )));
                }
            }
        }
        Ok(())
    }

    fn add_version(&mut self, _node: NodeId, _content: &Content) -> Result<(), FactMismatch> {
        Ok(())
    }

    fn add_backup(&mut self, _backup: Backup) -> Result<(), FactMismatch> {
        Ok(())
    }

    // Records, versions, backups and undo marks live in the store only. The tree accepts facts
    // about them so that the same list of facts can be applied to both.
    /// Ignored: a tree holds no records.
    fn set_record(
        &mut self,
        _: &RecordKey,
        _: Option<&Value>,
        _: Option<&Value>,
    ) -> Result<(), FactMismatch> {
        Ok(())
    }

    fn set_undone_by(
        &mut self,
        _operation: OperationId,
        _by: Option<OperationId>,
    ) -> Result<(), FactMismatch> {
        Ok(())
    }

    fn mismatch_fault(&mut self, what: String) -> FactMismatch {
        FactMismatch(what)
    }
}
