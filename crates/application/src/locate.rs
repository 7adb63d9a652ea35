//! From a name to a node.

use std::collections::{BTreeMap, HashMap};

use domain::ids::NodeId;
use domain::node::Node;
use domain::ports::{Snapshot, StoreFault};
use domain::reference::{NodeReference, Unresolved};
use domain::tree::Tree;

use crate::context::Context;
use crate::failure::{Failure, FailureKind};

/// Finds the node that the first one or two of `words` name, and returns the words not used.
pub(crate) fn find<'w>(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    words: &'w [String],
) -> Result<(NodeId, &'w [String]), Failure> {
    let (reference, rest) = NodeReference::read(words, ctx.profiles)?;
    Ok((resolve(state, &reference)?.id, rest))
}

/// Finds the node that `words` name, if there are any; nothing may be left over.
pub(crate) fn find_top(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    words: &[String],
) -> Result<Option<NodeId>, Failure> {
    if words.is_empty() {
        return Ok(None);
    }
    let (id, rest) = find(ctx, state, words)?;
    nothing_left(rest)?;
    Ok(Some(id))
}

/// Refuses words nobody asked for.
pub(crate) fn nothing_left(rest: &[String]) -> Result<(), Failure> {
    match rest.first() {
        None => Ok(()),
        Some(extra) => Err(Failure::new(
            FailureKind::Invalid,
            format!("`{extra}` is one word too many after the node"),
        )),
    }
}

/// Why a look-up gave no node.
pub(crate) enum Lookup {
    Fault(StoreFault),
    Unresolved(Unresolved),
}

impl From<Lookup> for Failure {
    fn from(lookup: Lookup) -> Self {
        match lookup {
            Lookup::Fault(fault) => fault.into(),
            Lookup::Unresolved(unresolved) => unresolved.into(),
        }
    }
}

impl From<StoreFault> for Lookup {
    fn from(fault: StoreFault) -> Self {
        Self::Fault(fault)
    }
}

/// Finds a node in a view of the state.
pub(crate) fn resolve(state: &dyn Snapshot, reference: &NodeReference) -> Result<Node, Lookup> {
    let mut candidates = chained(state, reference)?;
    if let [_] = candidates.as_slice() {
        return Ok(candidates.swap_remove(0));
    }
    let mut paths = candidates
        .iter()
        .map(|node| path_of(state, node))
        .collect::<Result<Vec<_>, _>>()?;
    match reference.pick(&paths, Vec::new) {
        Ok(index) => return Ok(candidates.swap_remove(index)),
        Err(Unresolved::NotFound { .. }) => {}
        Err(unresolved) => return Err(Lookup::Unresolved(unresolved)),
    }
    // Not by its alias: look through everything, which also finds out whether an index lied.
    let tree = Tree::new(state.all_nodes()?);
    candidates = tree
        .nodes()
        .filter(|node| node.alias == reference.alias())
        .cloned()
        .collect();
    paths = candidates.iter().map(|node| tree.path(node)).collect();
    let known = || {
        tree.all_in_order()
            .into_iter()
            .map(|node| tree.path(node))
            .collect()
    };
    match reference.pick(&paths, known) {
        Ok(index) => Ok(candidates.swap_remove(index)),
        Err(unresolved) => Err(Lookup::Unresolved(unresolved)),
    }
}

/// Returns the nodes of that alias whose parents are called as the reference says.
fn chained(state: &dyn Snapshot, reference: &NodeReference) -> Result<Vec<Node>, StoreFault> {
    let mut segments = reference.segments().iter();
    let mut found = match segments.next() {
        Some(first) => state.nodes_by_alias(first)?,
        None => Vec::new(),
    };
    for alias in segments {
        let mut below = Vec::new();
        for parent in &found {
            below.append(&mut state.children_by_alias(parent.id, alias)?);
        }
        found = below;
    }
    Ok(found)
}

/// Returns a node's path alias.
pub(crate) fn path_of(state: &dyn Snapshot, node: &Node) -> Result<String, StoreFault> {
    let mut parts = vec![node.alias.clone()];
    for ancestor in ancestors(state, node)? {
        parts.push(ancestor.alias);
    }
    parts.reverse();
    Ok(parts.join("/"))
}

/// Returns the nodes above, the parent first.
pub(crate) fn ancestors(state: &dyn Snapshot, node: &Node) -> Result<Vec<Node>, StoreFault> {
    let mut found: Vec<Node> = Vec::new();
    let mut above = node.parent;
    while let Some(id) = above {
        let Some(parent) = state.node(id)? else { break };
        if found.iter().any(|known| known.id == id) {
            return Err(StoreFault::Damaged {
                what: format!("the parents of `{}` go in a circle", node.alias),
            });
        }
        above = parent.parent;
        found.push(parent);
    }
    Ok(found)
}

/// Returns the tree of these nodes and all above them; those that are not there are left out.
pub(crate) fn with_ancestors(
    state: &dyn Snapshot,
    mut wanted: Vec<NodeId>,
) -> Result<Tree, StoreFault> {
    let mut nodes: BTreeMap<NodeId, Node> = BTreeMap::new();
    while let Some(id) = wanted.pop() {
        if let std::collections::btree_map::Entry::Vacant(place) = nodes.entry(id)
            && let Some(node) = state.node(id)?
        {
            wanted.extend(node.parent);
            place.insert(node);
        }
    }
    Ok(Tree::new(nodes.into_values()))
}

/// Returns a node that must be there.
pub(crate) fn get(state: &dyn Snapshot, id: NodeId) -> Result<Node, StoreFault> {
    state.node(id)?.ok_or_else(|| StoreFault::Damaged {
        what: format!("node {id} vanished"),
    })
}

/// Returns a node's parent.
pub(crate) fn parent(state: &dyn Snapshot, node: &Node) -> Result<Option<Node>, StoreFault> {
    match node.parent {
        Some(id) => state.node(id),
        None => Ok(None),
    }
}

/// Path aliases of many nodes, each ancestor looked up once.
pub(crate) struct PathNames<'s> {
    state: &'s dyn Snapshot,
    known: HashMap<NodeId, (Option<NodeId>, String)>,
}

impl<'s> PathNames<'s> {
    pub(crate) fn new(state: &'s dyn Snapshot) -> Self {
        Self {
            state,
            known: HashMap::new(),
        }
    }

    pub(crate) fn of(&mut self, node: &Node) -> Result<String, StoreFault> {
        let mut parts = vec![node.alias.clone()];
        let mut above = node.parent;
        while let Some(id) = above {
            if !self.known.contains_key(&id) {
                let parent = get(self.state, id)?;
                self.known.insert(id, (parent.parent, parent.alias));
            }
            let (next, alias) = &self.known[&id];
            parts.push(alias.clone());
            above = *next;
        }
        parts.reverse();
        Ok(parts.join("/"))
    }
}
