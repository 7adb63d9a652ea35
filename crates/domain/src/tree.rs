//! A tree of nodes in memory: a whole project, or just the part a decision needs.

use std::collections::HashMap;

use serde_json::Value;

use crate::cascade::StandingGroup;
use crate::fact::{Backup, Fact, NodeTable, apply};
use crate::ids::{NodeId, OperationId};
use crate::node::{Content, Node};
use crate::record::RecordKey;
use crate::status::Footing;
use crate::time::Timestamp;

/// Nodes with their order. A node whose parent is not in it counts as a top.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// By id. A node is as good as always added at the end, because ids are given in order.
    nodes: Vec<Node>,
    children: HashMap<NodeId, Vec<NodeId>>,
    tops: Vec<NodeId>,
}

/// A fact did not fit the tree.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Misfit(pub String);

impl Tree {
    /// Returns the tree of these nodes.
    #[must_use]
    pub fn new(nodes: impl IntoIterator<Item = Node>) -> Self {
        let mut nodes: Vec<Node> = nodes.into_iter().collect();
        if !nodes.is_sorted_by_key(|node| node.id) {
            nodes.sort_by_key(|node| node.id);
        }
        nodes.dedup_by_key(|node| node.id);
        let mut tree = Self { nodes, ..Self::default() };
        tree.link();
        tree
    }

    /// Returns a node.
    #[must_use]
    pub fn get(&self, id: NodeId) -> Option<&Node> {
        self.find(id).ok().map(|index| &self.nodes[index])
    }

    /// Returns every node, by id.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter()
    }

    /// Returns how many nodes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Says whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the nodes without a parent here, in order.
    pub fn tops(&self) -> impl Iterator<Item = &Node> {
        self.tops.iter().filter_map(|id| self.get(*id))
    }

    /// Returns a node's children, in order.
    pub fn children(&self, id: NodeId) -> impl Iterator<Item = &Node> {
        self.children.get(&id).into_iter().flatten().filter_map(|child| self.get(*child))
    }

    /// Returns a node's parent.
    #[must_use]
    pub fn parent(&self, node: &Node) -> Option<&Node> {
        node.parent.and_then(|id| self.get(id))
    }

    /// Returns the nodes above, from the parent up to the root.
    #[must_use]
    pub fn ancestors(&self, node: &Node) -> Vec<&Node> {
        let mut found: Vec<&Node> = Vec::new();
        let mut above = self.parent(node);
        while let Some(ancestor) = above {
            // A damaged tree may go in a circle; a path does not visit a node twice.
            if found.iter().any(|known| known.id == ancestor.id) {
                break;
            }
            found.push(ancestor);
            above = self.parent(ancestor);
        }
        found
    }

    /// Returns the path alias: `act-1/chapter-02`.
    #[must_use]
    pub fn path(&self, node: &Node) -> String {
        let mut parts: Vec<&str> = self.ancestors(node).iter().map(|ancestor| ancestor.alias.as_str()).collect();
        parts.reverse();
        parts.push(&node.alias);
        parts.join("/")
    }

    /// Returns a node and all below it, each before its children.
    #[must_use]
    pub fn preorder(&self, top: NodeId) -> Vec<&Node> {
        let mut found = Vec::new();
        let mut stack = vec![top];
        while let Some(id) = stack.pop() {
            let Some(node) = self.get(id) else { continue };
            found.push(node);
            stack.extend(self.children.get(&id).into_iter().flatten().rev());
            // More nodes than there are: a circle.
            if found.len() > self.nodes.len() {
                break;
            }
        }
        found
    }

    /// Returns every node, each before its children.
    #[must_use]
    pub fn all_in_order(&self) -> Vec<&Node> {
        self.tops.iter().flat_map(|top| self.preorder(*top)).collect()
    }

    /// Returns what the statuses of a node and all below it rest on.
    #[must_use]
    pub fn footings(&self, top: NodeId) -> Vec<Footing> {
        self.preorder(top).into_iter().map(Node::footing).collect()
    }

    /// Applies facts in order.
    ///
    /// # Errors
    /// [`Misfit`] when a fact does not fit; the tree is then half changed and must be thrown away.
    pub fn apply_all<'a>(&mut self, facts: impl IntoIterator<Item = &'a Fact>, at: Timestamp) -> Result<(), Misfit> {
        facts.into_iter().try_for_each(|fact| apply(self, fact, at))
    }

    fn link(&mut self) {
        self.children.clear();
        self.tops.clear();
        for node in &self.nodes {
            match node.parent.filter(|parent| self.find(*parent).is_ok()) {
                Some(parent) => self.children.entry(parent).or_default().push(node.id),
                None => self.tops.push(node.id),
            }
        }
        let (mut children, mut tops) = (std::mem::take(&mut self.children), std::mem::take(&mut self.tops));
        children.values_mut().chain([&mut tops]).for_each(|siblings| siblings.sort_by(|a, b| self.compare(*a, *b)));
        (self.children, self.tops) = (children, tops);
    }

    fn compare(&self, a: NodeId, b: NodeId) -> std::cmp::Ordering {
        match (self.get(a), self.get(b)) {
            (Some(a), Some(b)) => sibling_order(a, b),
            _ => a.cmp(&b),
        }
    }

    /// Returns where a node is, or where it would have to be.
    fn find(&self, id: NodeId) -> Result<usize, usize> {
        // Ids are given in order, without gaps while nothing is taken out: mostly the number alone says where.
        let first = self.nodes.first().map_or(0, |first| first.id.0);
        let likely = id.0.wrapping_sub(first) as usize;
        if self.nodes.get(likely).is_some_and(|node| node.id == id) {
            return Ok(likely);
        }
        self.nodes.binary_search_by_key(&id, |node| node.id)
    }

    /// Returns a node's parent, if it is in this tree.
    fn parent_here(&self, node: NodeId) -> Option<NodeId> {
        let parent = self.find(node).ok().and_then(|at| self.nodes[at].parent);
        parent.filter(|parent| self.find(*parent).is_ok())
    }

    fn siblings_of(&mut self, node: NodeId) -> &mut Vec<NodeId> {
        match self.parent_here(node) {
            Some(parent) => self.children.entry(parent).or_default(),
            None => &mut self.tops,
        }
    }

    /// Takes a node out of its siblings.
    fn unplace(&mut self, id: NodeId) {
        let parent = self.parent_here(id);
        let siblings = self.siblings_of(id);
        siblings.retain(|sibling| *sibling != id);
        // No list is left for a node without children, so that equal trees are equal.
        if siblings.is_empty()
            && let Some(parent) = parent
        {
            self.children.remove(&parent);
        }
    }

    fn place(&mut self, id: NodeId) {
        let mut siblings = std::mem::take(self.siblings_of(id));
        let at = siblings.partition_point(|other| self.compare(*other, id).is_lt());
        siblings.insert(at, id);
        *self.siblings_of(id) = siblings;
    }
}

/// Orders siblings: numbers as numbers, then by name.
#[must_use]
pub fn sibling_order(a: &Node, b: &Node) -> std::cmp::Ordering {
    (&a.profile, &a.level, a.order, &a.alias, a.id).cmp(&(&b.profile, &b.level, b.order, &b.alias, b.id))
}

impl NodeTable for Tree {
    type Fault = Misfit;

    fn get(&mut self, id: NodeId) -> Result<Option<Node>, Misfit> {
        Ok(Tree::get(self, id).cloned())
    }

    fn insert(&mut self, node: Node) -> Result<(), Misfit> {
        let id = node.id;
        if let Some(parent) = node.parent
            && self.find(parent).is_err()
        {
            return Err(Misfit(format!("`{}` added below {parent}, which is not there", node.alias)));
        }
        match self.find(id) {
            Ok(_) => return Err(Misfit(format!("`{}` added under a number that is taken", node.alias))),
            Err(at) => self.nodes.insert(at, node),
        }
        self.place(id);
        Ok(())
    }

    fn replace(&mut self, _before: &Node, after: Node) -> Result<(), Misfit> {
        match self.find(after.id) {
            Ok(at) => self.nodes[at] = after,
            Err(_) => return Err(Misfit(format!("`{}` changed, but there is no such node", after.alias))),
        }
        Ok(())
    }

    fn move_below(&mut self, node: &Node, parent: Option<NodeId>, at: Timestamp) -> Result<(), Misfit> {
        let mut above = parent;
        while let Some(id) = above {
            if id == node.id {
                return Err(Misfit(format!("`{}` would stand below itself", node.alias)));
            }
            above = Self::get(self, id).and_then(|node| node.parent);
        }
        let Ok(index) = self.find(node.id) else { return Err(Misfit(format!("`{}` is not there", node.alias))) };
        self.unplace(node.id);
        self.nodes[index].parent = parent;
        self.nodes[index].updated_at = at;
        self.place(node.id);
        Ok(())
    }

    fn remove(&mut self, id: NodeId) -> Result<(), Misfit> {
        if self.children.get(&id).is_some_and(|children| !children.is_empty()) {
            return Err(Misfit(format!("{id} removed while it has children")));
        }
        self.unplace(id);
        if let Ok(at) = self.find(id) {
            self.nodes.remove(at);
        }
        Ok(())
    }

    fn set_standings(&mut self, group: &StandingGroup) -> Result<(), Misfit> {
        for id in &group.nodes {
            match self.find(*id).ok().map(|at| &mut self.nodes[at]) {
                Some(node) if node.standing == group.before => node.standing = group.after.clone(),
                Some(node) => {
                    return Err(Misfit(format!("standing of `{}` is not what the fact says it was", node.alias)));
                }
                None => return Err(Misfit(format!("standing of {id} changed, but there is no such node"))),
            }
        }
        Ok(())
    }

    fn keep_version(&mut self, _node: NodeId, _content: &Content) -> Result<(), Misfit> {
        Ok(())
    }

    fn add_backup(&mut self, _backup: Backup) -> Result<(), Misfit> {
        Ok(())
    }

    /// A tree holds no records.
    fn set_record(&mut self, _: &RecordKey, _: Option<&Value>, _: Option<&Value>) -> Result<(), Misfit> {
        Ok(())
    }

    fn set_undone(&mut self, _operation: OperationId, _by: Option<OperationId>) -> Result<(), Misfit> {
        Ok(())
    }

    fn misfit(&mut self, what: String) -> Misfit {
        Misfit(what)
    }
}
