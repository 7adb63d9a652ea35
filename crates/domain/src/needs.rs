//! Dependency graph of nodes (`needs` in the front matter), and which nodes are ready to work on.
//!
//! Entries that cannot be resolved or would close a cycle are reported as problems and left out, so
//! that the graph is always acyclic.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::ids::NodeId;
use crate::node::{Node, Progress, Status};
use crate::node_reference::{NodeReference, Unresolved};
use crate::profile::Profile;
use crate::tree::Tree;

/// The dependency graph, with the problems found in the plans that declare it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    edges: HashMap<NodeId, Vec<NodeId>>,
    pub problems: Vec<NeedsProblem>,
}

/// A `needs` entry that is ignored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NeedsProblem {
    #[error("`{node}` needs `{name}`, but there is no such node")]
    Unknown { node: String, name: String },
    #[error("`{node}` needs `{name}`, which could be any of {}", candidates.join(", "))]
    Ambiguous {
        node: String,
        name: String,
        candidates: Vec<String>,
    },
    #[error("`{node}` cannot need `{name}`: {}", circle.join(" needs "))]
    Circle {
        node: String,
        name: String,
        circle: Vec<String>,
    },
}

impl NeedsProblem {
    /// Returns the path alias of the node whose plan has the problem.
    #[must_use]
    pub fn node_path(&self) -> &str {
        match self {
            Self::Unknown { node, .. }
            | Self::Ambiguous { node, .. }
            | Self::Circle { node, .. } => node,
        }
    }
}

/// Resolves one entry of a node's `needs`: a path or alias that fits one plan, or a sibling.
///
/// # Errors
/// When no plan fits, or several that are not siblings of the node.
pub fn resolve_need<'t>(
    tree: &Tree,
    profiles: &[Profile],
    by_alias: &HashMap<&str, Vec<&'t Node>>,
    node: &Node,
    name: &str,
) -> Result<&'t Node, NeedsProblem> {
    // The forms of the command line (`chapter 4`) are allowed in files, too.
    let words: Vec<String> = name.split_whitespace().map(str::to_owned).collect();
    let unknown = || NeedsProblem::Unknown {
        node: tree.alias_path(node),
        name: name.to_owned(),
    };
    let (reference, _) = NodeReference::parse_words(&words, profiles).map_err(|_| unknown())?;
    let candidates = by_alias
        .get(reference.alias())
        .map_or(&[][..], Vec::as_slice);
    let paths: Vec<String> = candidates
        .iter()
        .map(|candidate| tree.alias_path(candidate))
        .collect();
    // Aliases are unique among siblings only. `needs: chapter-01` in a chapter means the one
    // next to it, not the first chapter of another act.
    let sibling = candidates
        .iter()
        .copied()
        .find(|candidate| candidate.parent == node.parent);
    match (reference.pick_matching_path(&paths, Vec::new), sibling) {
        (Ok(index), _) => candidates.get(index).copied().ok_or_else(unknown),
        (Err(Unresolved::Ambiguous { .. }), Some(sibling)) => Ok(sibling),
        (Err(Unresolved::Ambiguous { candidates, .. }), None) => Err(NeedsProblem::Ambiguous {
            node: tree.alias_path(node),
            name: name.to_owned(),
            candidates,
        }),
        (Err(_), _) => Err(unknown()),
    }
}

impl Needs {
    /// Resolves the `needs` of every node in the tree.
    #[must_use]
    pub fn from_tree(tree: &Tree, profiles: &[Profile]) -> Self {
        let mut needs = Self::default();
        // Most projects use no `needs`; this saves the index over all aliases.
        if tree.nodes().all(|node| node.description.needs.is_empty()) {
            return needs;
        }
        let mut by_alias: HashMap<&str, Vec<&Node>> = HashMap::new();
        for node in tree.nodes() {
            by_alias.entry(&node.alias).or_default().push(node);
        }
        for node in tree.all_preorder() {
            for name in &node.description.needs {
                needs.add_need(tree, profiles, &by_alias, node, name);
            }
        }
        needs
    }

    fn add_need(
        &mut self,
        tree: &Tree,
        profiles: &[Profile],
        by_alias: &HashMap<&str, Vec<&Node>>,
        node: &Node,
        name: &str,
    ) {
        let needed = match resolve_need(tree, profiles, by_alias, node, name) {
            Ok(needed) => needed,
            Err(problem) => {
                self.problems.push(problem);
                return;
            }
        };
        // Checked edge by edge: the graph stays acyclic, and the entry that closes the cycle is the
        // one reported. Nodes come in tree order, so the report is stable.
        if let Some(circle) = self.find_dependency_path(needed.id, node.id) {
            let mut names = vec![node.alias.clone()];
            names.extend(
                circle
                    .iter()
                    .filter_map(|id| tree.get(*id))
                    .map(|node| node.alias.clone()),
            );
            self.problems.push(NeedsProblem::Circle {
                node: tree.alias_path(node),
                name: name.to_owned(),
                circle: names,
            });
            return;
        }
        self.edges.entry(node.id).or_default().push(needed.id);
    }

    /// Returns the nodes that need another one, and those that are needed.
    #[must_use]
    pub fn involved_nodes(&self) -> BTreeSet<NodeId> {
        let edges = self.edges.iter();
        edges
            .flat_map(|(node, needed)| needed.iter().chain([node]))
            .copied()
            .collect()
    }

    /// Returns the direct dependencies of a node.
    #[must_use]
    pub fn needs_of_node(&self, id: NodeId) -> &[NodeId] {
        self.edges.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Returns a dependency path from `from` to `to`, including both ends (depth-first search).
    fn find_dependency_path(&self, from: NodeId, to: NodeId) -> Option<Vec<NodeId>> {
        let mut seen = HashSet::new();
        let mut stack = vec![vec![from]];
        while let Some(way) = stack.pop() {
            let last = *way.last()?;
            if last == to {
                return Some(way);
            }
            // Diamonds are common (two plans that need the same third): visit each node once.
            if seen.insert(last) {
                for next in self.needs_of_node(last) {
                    let mut longer = way.clone();
                    longer.push(*next);
                    stack.push(longer);
                }
            }
        }
        None
    }
}

/// Returns the nodes that are ready to work on, in tree order.
#[must_use]
pub fn find_ready_nodes<'t>(
    tree: &'t Tree,
    needs: &Needs,
    waits_for_approval: &dyn Fn(&Node) -> bool,
) -> Vec<&'t Node> {
    let readiness = Readiness {
        tree,
        needs,
        waits_for_approval,
    };
    let all = tree.all_preorder().into_iter();
    all.filter(|node| readiness.is_ready(node)).collect()
}

/// The rule of readiness on a tree, or on the part of one that decides about a node: the node, its
/// children, its ancestors, and what these need.
#[derive(Clone, Copy)]
pub struct Readiness<'r> {
    pub tree: &'r Tree,
    pub needs: &'r Needs,
    pub waits_for_approval: &'r dyn Fn(&Node) -> bool,
}

impl Readiness<'_> {
    /// Whether a node can be worked on now.
    ///
    /// It is approved (or a draft for which `waits_for_approval` is false), neither complete nor
    /// blocked, has no open dependency, no open children (the work is then below it), and neither it
    /// nor an ancestor is dropped or deferred.
    #[must_use]
    pub fn is_ready(&self, node: &Node) -> bool {
        let may_begin = match node.status() {
            Status::Approved => true,
            Status::Draft => !(self.waits_for_approval)(node),
            Status::RequiresRevalidation | Status::Invalid => false,
        };
        // A dependency of an act holds for all of its scenes, and so does dropping it.
        let is_held_up = |node: &Node| node.disposition().is_some() || self.waits(node);
        may_begin
            && is_open(node)
            && node.progress != Progress::Blocked
            && !self.tree.children(node.id).any(is_open)
            && !is_held_up(node)
            && !self.tree.ancestors(node).into_iter().any(is_held_up)
    }

    fn waits(&self, node: &Node) -> bool {
        let needed = self.needs.needs_of_node(node.id).iter();
        needed.filter_map(|id| self.tree.get(*id)).any(is_open)
    }
}

/// Whether work on a node is left: it is neither complete nor dropped.
#[must_use]
pub fn is_open(node: &Node) -> bool {
    node.progress != Progress::Complete && !node.is_dropped()
}
