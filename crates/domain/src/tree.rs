//! A tree of nodes in memory: a whole project, or just the part a decision needs.

use std::collections::{BTreeMap, HashMap};

use crate::cascade::StandingGroup;
use crate::fact::{Backup, Fact, NodeTable, apply};
use crate::ids::{NodeId, OperationId};
use crate::node::{Content, Node};
use crate::status::Footing;
use crate::time::Timestamp;

/// Nodes with their order. A node whose parent is not in it counts as a top.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    nodes: BTreeMap<NodeId, Node>,
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
        let mut tree = Self { nodes: nodes.into_iter().map(|node| (node.id, node)).collect(), ..Self::default() };
        tree.link();
        tree
    }

    /// Returns a node.
    #[must_use]
    pub fn get(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(&id)
    }

    /// Returns every node, by id.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values()
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
        for node in self.nodes.values() {
            match node.parent.filter(|parent| self.nodes.contains_key(parent)) {
                Some(parent) => self.children.entry(parent).or_default().push(node.id),
                None => self.tops.push(node.id),
            }
        }
        let nodes = &self.nodes;
        let sort = |ids: &mut Vec<NodeId>| ids.sort_by(|a, b| sibling_order(&nodes[a], &nodes[b]));
        self.children.values_mut().for_each(sort);
        sort(&mut self.tops);
    }

    fn place(&mut self, id: NodeId) {
        let Some(node) = self.nodes.get(&id) else { return };
        let parent = node.parent.filter(|parent| self.nodes.contains_key(parent));
        let nodes = &self.nodes;
        let siblings = match parent {
            Some(parent) => self.children.entry(parent).or_default(),
            None => &mut self.tops,
        };
        let at = siblings.partition_point(|other| sibling_order(&nodes[other], node).is_lt());
        siblings.insert(at, id);
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
        Ok(self.nodes.get(&id).cloned())
    }

    fn insert(&mut self, node: Node) -> Result<(), Misfit> {
        let id = node.id;
        if let Some(parent) = node.parent
            && !self.nodes.contains_key(&parent)
        {
            return Err(Misfit(format!("`{}` added below {parent}, which is not there", node.alias)));
        }
        self.nodes.insert(id, node);
        self.place(id);
        Ok(())
    }

    fn replace(&mut self, _before: &Node, after: Node) -> Result<(), Misfit> {
        self.nodes.insert(after.id, after);
        Ok(())
    }

    fn remove(&mut self, id: NodeId) -> Result<(), Misfit> {
        if self.children.get(&id).is_some_and(|children| !children.is_empty()) {
            return Err(Misfit(format!("{id} removed while it has children")));
        }
        self.nodes.remove(&id);
        self.link();
        Ok(())
    }

    fn set_standings(&mut self, group: &StandingGroup) -> Result<(), Misfit> {
        for id in &group.nodes {
            match self.nodes.get_mut(id) {
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

    fn set_undone(&mut self, _operation: OperationId, _by: Option<OperationId>) -> Result<(), Misfit> {
        Ok(())
    }

    fn misfit(&mut self, what: String) -> Misfit {
        Misfit(what)
    }
}
