//! The nodes of a state as the facts of a scan leave them, before these are recorded.
//!
//! Decisions come together with the texts they are about, and are judged in the same operation.

use std::collections::{BTreeMap, BTreeSet};

use domain::decision::{IdHolder, KnownDecision, NodeVerdict};
use domain::duplicate_ids::{id_of_alias, is_duplicate};
use domain::fact::Fact;
use domain::ids::{CanonicalHash, NodeId};
use domain::node::{Node, NodeName, Progress};
use domain::ports::{NodeKey, Transaction};

use super::attach::verdict_of_node;
use super::{find_nodes_by_key, load_decision_key};
use crate::failure::Failure;

/// The nodes as the observed facts leave them.
pub(super) struct ObservedNodes {
    pub(super) added: BTreeMap<NodeId, Node>,
    /// Gone with their branch: their decisions went too, and come back with them.
    pub(super) removed: BTreeSet<NodeId>,
    renamed: BTreeMap<NodeId, NodeName>,
    /// Whether nodes are shown by a label, because another one has their id, or were.
    pub(super) has_labels: bool,
    texts: BTreeMap<NodeId, Option<CanonicalHash>>,
    progress: BTreeMap<NodeId, Progress>,
}

/// What a node's decisions are compared with.
pub(super) struct NodeState {
    pub(super) text: Option<CanonicalHash>,
    pub(super) parent_text: Option<CanonicalHash>,
    pub(super) verdict: NodeVerdict,
    pub(super) progress: Progress,
}

impl ObservedNodes {
    pub(super) fn from_facts(facts: &[Fact]) -> Self {
        let (mut added, mut removed) = (BTreeMap::new(), BTreeSet::new());
        let (mut texts, mut progress) = (BTreeMap::new(), BTreeMap::new());
        let (mut renamed, mut has_labels) = (BTreeMap::new(), false);
        for fact in facts {
            match fact {
                Fact::NodeRenamed {
                    node,
                    before,
                    after,
                } => {
                    has_labels |= is_duplicate(&before.alias) || is_duplicate(&after.alias);
                    renamed.insert(*node, after.clone());
                }
                Fact::NodeAdded { node } => {
                    has_labels |= is_duplicate(&node.alias);
                    texts.insert(node.id, node.content.canonical_hash());
                    added.insert(node.id, (**node).clone());
                }
                Fact::NodeRemoved { node } => {
                    removed.insert(node.id);
                }
                Fact::ContentChanged { node, after, .. } => {
                    texts.insert(*node, after.canonical_hash());
                }
                Fact::ProgressChanged { node, after, .. } => {
                    progress.insert(*node, *after);
                }
                _ => {}
            }
        }
        Self {
            added,
            removed,
            renamed,
            has_labels,
            texts,
            progress,
        }
    }

    /// Returns the nodes whose texts or labels changed, and their children, with the keys of their
    /// decisions.
    pub(super) fn find_affected(
        &self,
        tx: &dyn Transaction,
    ) -> Result<BTreeMap<NodeId, String>, Failure> {
        let mut found = BTreeMap::new();
        let relabelled = self.renamed.keys().filter(|_| self.has_labels);
        for id in self.texts.keys().chain(relabelled) {
            if let Some(key) = self.key_of(tx, *id)? {
                found.insert(*id, key);
            }
            // The store has no children of an added node yet; those added with it are listed
            // themselves.
            if self.added.contains_key(id) {
                continue;
            }
            for child in tx.load_children(*id)? {
                found.insert(child.id, load_decision_key(tx, &child)?);
            }
        }
        Ok(found)
    }

    pub(super) fn key_of(
        &self,
        tx: &dyn Transaction,
        id: NodeId,
    ) -> Result<Option<String>, Failure> {
        let mut aliases = Vec::new();
        let mut above = Some(id);
        // Up to the first ancestor that the store has: the nodes of a new branch are added
        // together, and none of them can be loaded before the operation is recorded.
        while let Some(id) = above {
            match self.added.get(&id) {
                Some(node) => {
                    above = node.parent;
                    aliases.push(id_of_alias(&node.alias).to_owned());
                    if above.is_none() {
                        aliases.reverse();
                        let key = NodeKey {
                            profile: node.profile.clone(),
                            path: aliases.join("/"),
                        };
                        return Ok(Some(key.to_string()));
                    }
                }
                None => {
                    let Some(node) = tx.load_node(id)? else {
                        return Ok(None);
                    };
                    let mut key = load_decision_key(tx, &node)?;
                    for alias in aliases.iter().rev() {
                        key.push('/');
                        key.push_str(alias);
                    }
                    return Ok(Some(key));
                }
            }
        }
        Ok(None)
    }

    /// Keeps the decisions about a node among those about its id, which another node may have too.
    pub(super) fn select_decisions(
        &self,
        tx: &dyn Transaction,
        node: NodeId,
        key: &str,
        known: Vec<KnownDecision>,
    ) -> Result<Vec<KnownDecision>, Failure> {
        if known.is_empty() {
            return Ok(known);
        }
        let (is_labelled, file) = self.label_and_file(tx, node)?;
        let is_about_it = |one: &KnownDecision| match &one.decision.plan_file {
            Some(named) => Some(named) == file.as_ref(),
            None => true,
        };
        // The common case, without a look at other nodes.
        if !is_labelled && known.iter().all(is_about_it) {
            return Ok(known);
        }
        let mut others: BTreeSet<NodeId> = find_nodes_by_key(tx, key)?
            .into_iter()
            .map(|node| node.id)
            .collect();
        for added in self.added.keys() {
            if self.key_of(tx, *added)?.as_deref() == Some(key) {
                others.insert(*added);
            }
        }
        let mut other_files = Vec::new();
        for other in others {
            if other != node && !self.removed.contains(&other) {
                other_files.extend(self.label_and_file(tx, other)?.1);
            }
        }
        let holder = IdHolder {
            is_labelled,
            file,
            other_files,
        };
        Ok(holder.select_decisions(known))
    }

    /// Returns whether a node or one above it is shown by a label, and the file of the node.
    fn label_and_file(
        &self,
        tx: &dyn Transaction,
        node: NodeId,
    ) -> Result<(bool, Option<String>), Failure> {
        let (mut is_labelled, mut file, mut above) = (false, None, Some(node));
        while let Some(id) = above {
            let Some(mut node) = self.load_node(tx, id)? else {
                break;
            };
            if let Some(name) = self.renamed.get(&id) {
                node.set_name(name.clone());
            }
            is_labelled |= is_duplicate(&node.alias);
            file = file.or(node.path);
            above = node.parent;
        }
        Ok((is_labelled, file))
    }

    fn load_node(&self, tx: &dyn Transaction, id: NodeId) -> Result<Option<Node>, Failure> {
        Ok(match self.added.get(&id) {
            Some(node) => Some(node.clone()),
            None => tx.load_node(id)?,
        })
    }

    pub(super) fn state_of(&self, tx: &dyn Transaction, id: NodeId) -> Result<NodeState, Failure> {
        let node = self.load_node(tx, id)?;
        let parent = node.as_ref().and_then(|node| node.parent);
        let parent_text = match parent {
            Some(parent) => self.text_of(tx, parent)?,
            None => None,
        };
        Ok(NodeState {
            text: self.text_of(tx, id)?,
            parent_text,
            progress: self
                .progress
                .get(&id)
                .copied()
                .or(node.as_ref().map(|node| node.progress))
                .unwrap_or_default(),
            verdict: node.map(verdict_of_node).unwrap_or_default(),
        })
    }

    /// Returns the text of a node as it was loaded, unless the facts change it.
    pub(super) fn text_in(&self, node: &Node) -> Option<CanonicalHash> {
        match self.texts.get(&node.id) {
            Some(text) => *text,
            None => node.content.canonical_hash(),
        }
    }

    /// Whether the facts give a node another text.
    pub(super) fn has_new_text(&self, id: NodeId) -> bool {
        self.texts.contains_key(&id)
    }

    pub(super) fn text_of(
        &self,
        tx: &dyn Transaction,
        id: NodeId,
    ) -> Result<Option<CanonicalHash>, Failure> {
        match self.texts.get(&id) {
            Some(text) => Ok(*text),
            None => Ok(tx
                .load_node(id)?
                .and_then(|node| node.content.canonical_hash())),
        }
    }
}
