//! Node lookup: resolves the name in a command's arguments to a node, and loads nodes with their
//! ancestors and paths.
//!
//! Names are resolved against the recorded state only; the files are scanned by `observe`.

use std::collections::{BTreeMap, HashMap};

use domain::ids::NodeId;
use domain::node::Node;
use domain::node_reference::{NodeReference, Unresolved};
use domain::ports::{Snapshot, StoreFault};
use domain::tree::Tree;

use crate::absent_nodes::{absent_failure, find_absent_by_name};
use crate::context::Context;
use crate::failure::Failure;

/// Finds the node named by the first one or two of `words`, and returns the remaining words.
pub(crate) fn find_node<'w>(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    words: &'w [String],
) -> Result<(NodeId, &'w [String]), Failure> {
    let (reference, rest) = NodeReference::parse_words(words, ctx.profiles)?;
    match resolve_node(state, &reference) {
        Err(LookupError::Unresolved(unknown @ Unresolved::NotFound { .. })) => {
            match find_absent_by_name(state, &reference.joined_name())? {
                Some((_, absent)) => Err(absent_failure(ctx, &absent)),
                None => Err(unknown.into()),
            }
        }
        found => Ok((found?.id, rest)),
    }
}

/// Finds the node named by `words`, if there are any; extra words are an error.
pub(crate) fn find_subtree_root(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    words: &[String],
) -> Result<Option<NodeId>, Failure> {
    if words.is_empty() {
        return Ok(None);
    }
    let (id, rest) = find_node(ctx, state, words)?;
    reject_extra_words(rest)?;
    Ok(Some(id))
}

/// Rejects extra arguments.
pub(crate) fn reject_extra_words(rest: &[String]) -> Result<(), Failure> {
    match rest.first() {
        None => Ok(()),
        Some(extra) => Err(Failure::invalid(format!(
            "unexpected argument `{extra}` after the node"
        ))),
    }
}

/// Error of a node lookup.
///
/// Separate from [`Failure`], because a missing parent gets other next steps than a missing node.
pub(crate) enum LookupError {
    Fault(StoreFault),
    Unresolved(Unresolved),
}

impl From<LookupError> for Failure {
    fn from(lookup: LookupError) -> Self {
        match lookup {
            LookupError::Fault(fault) => fault.into(),
            LookupError::Unresolved(unresolved) => unresolved.into(),
        }
    }
}

impl From<StoreFault> for LookupError {
    fn from(fault: StoreFault) -> Self {
        Self::Fault(fault)
    }
}

/// Resolves a reference in a snapshot.
pub(crate) fn resolve_node(
    state: &dyn Snapshot,
    reference: &NodeReference,
) -> Result<Node, LookupError> {
    // The index by alias answers nearly every lookup with a few rows. The whole tree is read only
    // on the way to an error message, or if the index is wrong.
    let mut candidates = load_by_alias_chain(state, reference)?;
    if let [_] = candidates.as_slice() {
        return Ok(candidates.swap_remove(0));
    }
    // Several matches, or none. The domain decides between them by their paths, which are only
    // built here.
    let mut paths = candidates
        .iter()
        .map(|node| load_node_path(state, node))
        .collect::<Result<Vec<_>, _>>()?;
    match reference.pick_matching_path(&paths, Vec::new) {
        Ok(index) => return Ok(candidates.swap_remove(index)),
        Err(Unresolved::NotFound { .. }) => {}
        Err(unresolved) => return Err(LookupError::Unresolved(unresolved)),
    }
    // Not in the index. The full read gives the names for a suggestion, and shows whether the index
    // is wrong.
    let tree = Tree::new(state.all_nodes()?);
    candidates = tree
        .nodes()
        .filter(|node| node.alias == reference.alias())
        .cloned()
        .collect();
    paths = candidates
        .iter()
        .map(|node| tree.alias_path(node))
        .collect();
    let known = || {
        tree.all_preorder()
            .into_iter()
            .map(|node| tree.alias_path(node))
            .collect()
    };
    match reference.pick_matching_path(&paths, known) {
        Ok(index) => Ok(candidates.swap_remove(index)),
        Err(unresolved) => Err(LookupError::Unresolved(unresolved)),
    }
}

/// Returns the nodes whose alias and ancestors match the segments of the reference.
fn load_by_alias_chain(
    state: &dyn Snapshot,
    reference: &NodeReference,
) -> Result<Vec<Node>, StoreFault> {
    let mut segments = reference.segments().iter();
    let mut found = match segments.next() {
        Some(first) => state.nodes_by_alias(first)?,
        None => Vec::new(),
    };
    // Segment by segment from the top: every step is one index lookup, and a deep path reads no
    // siblings.
    for alias in segments {
        let mut below = Vec::new();
        for parent in &found {
            below.append(&mut state.children_by_alias(parent.id, alias)?);
        }
        found = below;
    }
    Ok(found)
}

/// Returns the path of a node.
pub(crate) fn load_node_path(state: &dyn Snapshot, node: &Node) -> Result<String, StoreFault> {
    let mut parts = vec![node.alias.clone()];
    for ancestor in load_ancestors(state, node)? {
        parts.push(ancestor.alias);
    }
    parts.reverse();
    Ok(parts.join("/"))
}

/// Returns the ancestors of a node, the parent first.
pub(crate) fn load_ancestors(state: &dyn Snapshot, node: &Node) -> Result<Vec<Node>, StoreFault> {
    let mut found: Vec<Node> = Vec::new();
    let mut above = node.parent;
    while let Some(id) = above {
        // A missing parent is a finding of `tl check`. The path up to it is still the best name to
        // show.
        let Some(parent) = state.load_node(id)? else {
            break;
        };
        // A cycle can only come from a damaged store; without the check the loop would not end.
        if found.iter().any(|known| known.id == id) {
            return Err(StoreFault::Damaged {
                what: format!("cycle in the parents of `{}`", node.alias),
            });
        }
        above = parent.parent;
        found.push(parent);
    }
    Ok(found)
}

/// Returns the tree of these nodes and their ancestors; unknown ids are left out.
pub(crate) fn load_with_ancestors(
    state: &dyn Snapshot,
    mut wanted: Vec<NodeId>,
) -> Result<Tree, StoreFault> {
    let mut nodes: BTreeMap<NodeId, Node> = BTreeMap::new();
    while let Some(id) = wanted.pop() {
        if let std::collections::btree_map::Entry::Vacant(place) = nodes.entry(id)
            && let Some(node) = state.load_node(id)?
        {
            wanted.extend(node.parent);
            place.insert(node);
        }
    }
    Ok(Tree::new(nodes.into_values()))
}

/// Loads a node that has to exist.
pub(crate) fn load_node(state: &dyn Snapshot, id: NodeId) -> Result<Node, StoreFault> {
    state.load_node(id)?.ok_or_else(|| StoreFault::Damaged {
        what: format!("node {id} is missing"),
    })
}

/// Loads the parent of a node.
pub(crate) fn load_parent(state: &dyn Snapshot, node: &Node) -> Result<Option<Node>, StoreFault> {
    match node.parent {
        Some(id) => state.load_node(id),
        None => Ok(None),
    }
}

/// Path cache for many nodes: every ancestor is loaded once.
pub(crate) struct PathCache<'s> {
    state: &'s dyn Snapshot,
    known: HashMap<NodeId, (Option<NodeId>, String)>,
}

impl<'s> PathCache<'s> {
    pub(crate) fn new(state: &'s dyn Snapshot) -> Self {
        Self {
            state,
            known: HashMap::new(),
        }
    }

    /// Returns the path of a node.
    pub(crate) fn path_of(&mut self, node: &Node) -> Result<String, StoreFault> {
        let mut parts = vec![node.alias.clone()];
        let mut above = node.parent;
        while let Some(id) = above {
            // Siblings share their whole lineage, so a list of a hundred nodes loads each ancestor
            // once instead of a hundred times.
            if !self.known.contains_key(&id) {
                let parent = load_node(self.state, id)?;
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
