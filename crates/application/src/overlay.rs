//! In-memory overlay: a snapshot with facts applied on top, which nobody else sees.
//!
//! A state that several working copies share shows each of them its own texts this way: the reader's
//! differences are recorded here, by the same code that records them in a store, and dropped with
//! the overlay. It cannot be committed. The history is the shared one; only the operations of the
//! overlay can be loaded by their number, because causes of statuses name them.

use std::collections::{BTreeMap, HashMap};

use domain::cascade::StatusChangeGroup;
use domain::fact::{Backup, NodeTable, apply_fact};
use domain::ids::{Digest32, NodeId, OperationId, StoreId, VersionHash};
use domain::node::{Content, Node};
use domain::operation::{Operation, OperationHead};
use domain::ports::{
    ChildName, FileStamp, NewOperation, NodeReader, OperationReader, RecordReader, Snapshot,
    StoreFault, Transaction, VersionReader,
};
use domain::record::RecordKey;
use domain::search::{MatchMode, SearchQuery};
use domain::secrets::{MaskedText, mask_operation};
use domain::status::StatusInputs;
use domain::time::Timestamp;
use domain::tree::Tree;
use domain::version::Version;
use serde_json::Value;

/// Number of nodes of one status change above which the whole tree is loaded at once: on a database
/// server each single node is a round trip.
const MAX_SINGLE_LOADS: usize = 32;

/// First id of a node that only this working copy has. Far above the ids of a store, which start at
/// 1.
pub(crate) const FIRST_NEW_NODE: u32 = u32::MAX / 2;

/// A snapshot with facts applied in memory.
pub(crate) struct Overlay<'s> {
    base: Box<dyn Snapshot + 's>,
    /// Changed and added nodes, and copies of loaded ones.
    nodes: BTreeMap<NodeId, Node>,
    added: Vec<NodeId>,
    /// Whether a node was moved or removed, so that subtrees of the base are not those of the
    /// overlay.
    reshaped: bool,
    removed: Vec<NodeId>,
    versions: Vec<Version>,
    texts: HashMap<VersionHash, String>,
    records: BTreeMap<RecordKey, Option<Value>>,
    operations: Vec<Operation>,
    applying: (OperationId, Timestamp),
}

impl<'s> Overlay<'s> {
    pub(crate) fn new(base: Box<dyn Snapshot + 's>) -> Self {
        Self {
            base,
            nodes: BTreeMap::new(),
            added: Vec::new(),
            reshaped: false,
            removed: Vec::new(),
            versions: Vec::new(),
            texts: HashMap::new(),
            records: BTreeMap::new(),
            operations: Vec::new(),
            applying: (OperationId(0), Timestamp::from_millis(0)),
        }
    }

    /// Returns the snapshot below.
    pub(crate) fn into_base(self) -> Box<dyn Snapshot + 's> {
        self.base
    }

    /// Returns a node of the base as the overlay has it; `None` if it was removed.
    fn overlaid_node(&self, node: Node) -> Option<Node> {
        if self.removed.contains(&node.id) {
            return None;
        }
        Some(self.nodes.get(&node.id).cloned().unwrap_or(node))
    }

    fn overlaid_list(&self, nodes: Vec<Node>) -> Vec<Node> {
        nodes
            .into_iter()
            .filter_map(|node| self.overlaid_node(node))
            .collect()
    }

    /// Whether only the overlay has a node: a store takes a question about it for damage.
    fn is_added(&self, id: NodeId) -> bool {
        id.0 >= FIRST_NEW_NODE
    }

    fn added_nodes(&self) -> impl Iterator<Item = &Node> {
        self.added.iter().filter_map(|id| self.nodes.get(id))
    }

    /// Sorts nodes by the tree, if they are not in its order any more.
    fn in_tree_order(&self, nodes: Vec<Node>) -> Vec<Node> {
        if self.added.is_empty() && !self.reshaped {
            return nodes;
        }
        let tree = Tree::new(nodes);
        tree.all_preorder().into_iter().cloned().collect()
    }

    fn misfit_fault(what: String) -> StoreFault {
        StoreFault::DoesNotFit { what }
    }
}

impl NodeReader for Overlay<'_> {
    fn load_node(&self, id: NodeId) -> Result<Option<Node>, StoreFault> {
        if let Some(node) = self.nodes.get(&id) {
            return Ok(Some(node.clone()));
        }
        if self.removed.contains(&id) {
            return Ok(None);
        }
        self.base.load_node(id)
    }

    fn nodes_by_alias(&self, alias: &str) -> Result<Vec<Node>, StoreFault> {
        let mut found = self.overlaid_list(self.base.nodes_by_alias(alias)?);
        // The base knows a node that was renamed here by its old alias only.
        found.retain(|node| node.alias == alias);
        let others: Vec<Node> = self
            .nodes
            .values()
            .filter(|node| node.alias == alias && found.iter().all(|known| known.id != node.id))
            .cloned()
            .collect();
        found.extend(others);
        Ok(found)
    }

    fn children_by_alias(&self, parent: NodeId, alias: &str) -> Result<Vec<Node>, StoreFault> {
        let mut found = self.nodes_by_alias(alias)?;
        found.retain(|node| node.parent == Some(parent));
        Ok(found)
    }

    fn load_children(&self, parent: NodeId) -> Result<Vec<Node>, StoreFault> {
        let mut found = match self.is_added(parent) {
            true => Vec::new(),
            false => self.overlaid_list(self.base.load_children(parent)?),
        };
        // The base lists children by its own parents; one that the overlay moved away is still
        // among them.
        found.retain(|node| node.parent == Some(parent));
        // Those that were added or moved here.
        let others: Vec<Node> = self
            .nodes
            .values()
            .filter(|node| {
                node.parent == Some(parent) && found.iter().all(|known| known.id != node.id)
            })
            .cloned()
            .collect();
        found.extend(others);
        Ok(found)
    }

    fn child_names(&self, parent: NodeId) -> Result<Vec<ChildName>, StoreFault> {
        if self.added.is_empty() && !self.reshaped {
            return self.base.child_names(parent);
        }
        let mut names: Vec<ChildName> = self
            .load_children(parent)?
            .into_iter()
            .map(|child| ChildName {
                level: child.level,
                order: child.order,
                alias: child.alias,
                id: child.id,
            })
            .collect();
        names.sort();
        Ok(names)
    }

    fn all_nodes(&self) -> Result<Vec<Node>, StoreFault> {
        let mut nodes = self.overlaid_list(self.base.all_nodes()?);
        nodes.extend(self.added_nodes().cloned());
        Ok(self.in_tree_order(nodes))
    }

    fn nodes_outside(&self, profiles: &[&str]) -> Result<Vec<Node>, StoreFault> {
        let mut nodes = self.overlaid_list(self.base.nodes_outside(profiles)?);
        let added = self
            .added_nodes()
            .filter(|node| !profiles.contains(&node.profile.as_str()));
        nodes.extend(added.cloned());
        Ok(self.in_tree_order(nodes))
    }

    fn load_subtree(&self, top: NodeId) -> Result<Vec<Node>, StoreFault> {
        // A subtree of the base lacks what moved in and has what moved out, so the whole tree is
        // read.
        if self.reshaped {
            let tree = Tree::new(self.all_nodes()?);
            return Ok(tree.subtree_preorder(top).into_iter().cloned().collect());
        }
        let mut nodes = match self.is_added(top) {
            true => Vec::new(),
            false => self.overlaid_list(self.base.load_subtree(top)?),
        };
        if self.added.is_empty() {
            return Ok(nodes);
        }
        // All added nodes, also those below another top: the tree drops what it does not reach from
        // here.
        nodes.extend(self.added_nodes().cloned());
        let tree = Tree::new(nodes);
        Ok(tree.subtree_preorder(top).into_iter().cloned().collect())
    }

    fn load_status_inputs(&self, top: NodeId) -> Result<Vec<StatusInputs>, StoreFault> {
        if self.nodes.is_empty() && !self.reshaped {
            return self.base.load_status_inputs(top);
        }
        let nodes = self.load_subtree(top)?;
        Ok(nodes.iter().map(Node::status_inputs).collect())
    }
}

impl VersionReader for Overlay<'_> {
    fn load_versions(&self, node: NodeId) -> Result<Vec<Version>, StoreFault> {
        // The overlay's are newer than any of the base.
        let own = self
            .versions
            .iter()
            .rev()
            .filter(|version| version.node == node);
        let mut found: Vec<Version> = own.cloned().collect();
        if !self.is_added(node) {
            found.extend(self.base.load_versions(node)?);
        }
        Ok(found)
    }

    fn load_version(&self, node: NodeId, hash: VersionHash) -> Result<Option<Version>, StoreFault> {
        let own = self
            .versions
            .iter()
            .find(|version| version.node == node && version.hash == hash);
        match own {
            Some(version) => Ok(Some(version.clone())),
            None if self.is_added(node) => Ok(None),
            None => self.base.load_version(node, hash),
        }
    }

    fn load_text(&self, hash: VersionHash) -> Result<Option<String>, StoreFault> {
        if let Some(text) = self.texts.get(&hash) {
            return Ok(Some(text.clone()));
        }
        // A version whose text held secrets is kept masked, under the hash of the masked text.
        if let Some(masked) = MaskedText::read_record(self, hash)?
            && let Some(text) = self.texts.get(&masked.kept)
        {
            return Ok(Some(text.clone()));
        }
        self.base.load_text(hash)
    }

    fn load_backups(&self, node: NodeId) -> Result<Vec<Backup>, StoreFault> {
        match self.is_added(node) {
            true => Ok(Vec::new()),
            false => self.base.load_backups(node),
        }
    }

    fn file_stamp(&self, node: NodeId) -> Result<Option<(FileStamp, VersionHash)>, StoreFault> {
        // A stamp says which text a file had when the shared state was compared; the overlay proves
        // nothing about files.
        self.base.file_stamp(node)
    }

    fn file_stamps(&self) -> Result<Vec<(NodeId, FileStamp, VersionHash)>, StoreFault> {
        self.base.file_stamps()
    }
}

impl OperationReader for Overlay<'_> {
    fn last_operation_id(&self) -> Result<OperationId, StoreFault> {
        self.base.last_operation_id()
    }

    fn load_operations(
        &self,
        before: Option<OperationId>,
        most: usize,
    ) -> Result<Vec<Operation>, StoreFault> {
        // The log is the shared one: an operation that only this reader sees could be neither
        // undone nor named to a colleague.
        self.base.load_operations(before, most)
    }

    fn operation_heads(
        &self,
        before: Option<OperationId>,
        most: usize,
    ) -> Result<Vec<OperationHead>, StoreFault> {
        self.base.operation_heads(before, most)
    }

    fn operation_head(&self, id: OperationId) -> Result<Option<OperationHead>, StoreFault> {
        let own = self.operations.iter().find(|operation| operation.id == id);
        match own {
            Some(operation) => Ok(Some(operation.to_head())),
            None => self.base.operation_head(id),
        }
    }

    fn operation_heads_of_node(
        &self,
        node: NodeId,
        before: Option<OperationId>,
        most: usize,
    ) -> Result<Vec<OperationHead>, StoreFault> {
        match self.is_added(node) {
            true => Ok(Vec::new()),
            false => self.base.operation_heads_of_node(node, before, most),
        }
    }

    fn load_operation(&self, id: OperationId) -> Result<Option<Operation>, StoreFault> {
        let own = self.operations.iter().find(|operation| operation.id == id);
        match own {
            Some(operation) => Ok(Some(operation.clone())),
            None => self.base.load_operation(id),
        }
    }

    fn undone_by(&self, id: OperationId) -> Result<Option<OperationId>, StoreFault> {
        self.base.undone_by(id)
    }

    fn chain_hash(&self, id: OperationId) -> Result<Option<Digest32>, StoreFault> {
        self.base.chain_hash(id)
    }

    fn journal_lines(&self, after: OperationId, most: usize) -> Result<Vec<String>, StoreFault> {
        self.base.journal_lines(after, most)
    }
}

impl RecordReader for Overlay<'_> {
    fn record_body(&self, kind: &str, key: &str) -> Result<Option<Value>, StoreFault> {
        let record = RecordKey {
            kind: kind.to_owned(),
            key: key.to_owned(),
        };
        match self.records.get(&record) {
            Some(body) => Ok(body.clone()),
            None => self.base.record_body(kind, key),
        }
    }

    fn records_by_prefix(
        &self,
        kind: &str,
        prefix: &str,
    ) -> Result<Vec<(String, Value)>, StoreFault> {
        let mut found: BTreeMap<String, Value> = self
            .base
            .records_by_prefix(kind, prefix)?
            .into_iter()
            .collect();
        for (record, body) in &self.records {
            if record.kind == kind && record.key.starts_with(prefix) {
                match body {
                    Some(body) => found.insert(record.key.clone(), body.clone()),
                    None => found.remove(&record.key),
                };
            }
        }
        Ok(found.into_iter().collect())
    }

    fn search_records(
        &self,
        kinds: &[&str],
        query: &SearchQuery,
        matching: MatchMode,
        most: usize,
    ) -> Result<Vec<RecordKey>, StoreFault> {
        // The base's index: an entry that is only laid over is found by its recorded words, a new
        // one not at all.
        self.base.search_records(kinds, query, matching, most)
    }

    fn load_note(&self, key: &str) -> Result<Option<String>, StoreFault> {
        self.base.load_note(key)
    }

    fn has_notes(&self, prefix: &str) -> Result<bool, StoreFault> {
        self.base.has_notes(prefix)
    }
}

impl Snapshot for Overlay<'_> {
    fn store_id(&self) -> Result<StoreId, StoreFault> {
        self.base.store_id()
    }

    fn working_copy_secret(&self) -> String {
        self.base.working_copy_secret()
    }

    fn store_time(&self) -> Result<Option<Timestamp>, StoreFault> {
        self.base.store_time()
    }
}

impl Transaction for Overlay<'_> {
    fn next_operation_id(&self) -> Result<OperationId, StoreFault> {
        // The next number is given although nothing will be stored under it: causes of statuses
        // name their operation, and `tl why` loads it from the overlay.
        match self.operations.last() {
            Some(operation) => Ok(operation.id.next_id()),
            None => Ok(self.base.last_operation_id()?.next_id()),
        }
    }

    fn next_node_id(&self) -> Result<NodeId, StoreFault> {
        // The caller numbers the new nodes itself, by a hash of their place (`local_node_id`).
        Ok(NodeId(FIRST_NEW_NODE))
    }

    fn record_operation(&mut self, mut new: NewOperation) -> Result<OperationId, StoreFault> {
        // As in a store: what is shown from the overlay is masked like everything else.
        mask_operation(&mut new, &*self)?;
        let id = self.next_operation_id()?;
        self.applying = (id, new.at);
        for text in new.texts {
            self.texts
                .insert(VersionHash::of_bytes(text.as_bytes()), text);
        }
        for fact in &new.facts {
            apply_fact(self, fact, new.at)?;
        }
        self.operations.push(Operation {
            id,
            at: new.at,
            by: new.by,
            channel: new.channel,
            verb: new.verb,
            summary: new.summary,
            key: new.key,
            facts: new.facts,
        });
        Ok(id)
    }

    fn record_journal_line(&mut self, _line: &str) -> Result<(), StoreFault> {
        Err(Self::misfit_fault("an overlay has no journal".to_owned()))
    }

    // Stamps and notes belong to the store; losing one here costs a second read at most.
    fn save_file_stamps(
        &mut self,
        _stamps: &[(NodeId, FileStamp, VersionHash)],
    ) -> Result<(), StoreFault> {
        Ok(())
    }

    fn save_note(
        &mut self,
        _key: &str,
        _body: Option<&str>,
        _at: Timestamp,
    ) -> Result<(), StoreFault> {
        Ok(())
    }

    fn delete_notes_before(&mut self, _prefix: &str, _before: Timestamp) -> Result<(), StoreFault> {
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<(), StoreFault> {
        Err(Self::misfit_fault(
            "an overlay cannot be committed".to_owned(),
        ))
    }
}

impl NodeTable for Overlay<'_> {
    type Fault = StoreFault;

    fn get_node(&mut self, id: NodeId) -> Result<Option<Node>, StoreFault> {
        NodeReader::load_node(self, id)
    }

    fn insert_node(&mut self, node: Node) -> Result<(), StoreFault> {
        self.added.push(node.id);
        self.nodes.insert(node.id, node);
        Ok(())
    }

    fn replace_node(&mut self, before: &Node, after: Node) -> Result<(), StoreFault> {
        // Siblings are in the order of their names.
        self.reshaped |= before.alias != after.alias || before.order != after.order;
        self.nodes.insert(after.id, after);
        Ok(())
    }

    fn move_node_below(
        &mut self,
        node: &Node,
        parent: Option<NodeId>,
        at: Timestamp,
    ) -> Result<(), StoreFault> {
        // The same check as in a store: a cycle would make every walk up the tree endless.
        let mut above = parent;
        while let Some(id) = above {
            if id == node.id {
                return Err(Self::misfit_fault(format!(
                    "`{}` would be its own ancestor",
                    node.alias
                )));
            }
            above = NodeReader::load_node(self, id)?.and_then(|node| node.parent);
        }
        let mut moved = node.clone();
        (moved.parent, moved.updated_at) = (parent, at);
        self.nodes.insert(moved.id, moved);
        self.reshaped = true;
        Ok(())
    }

    fn remove_node(&mut self, id: NodeId) -> Result<(), StoreFault> {
        self.nodes.remove(&id);
        self.added.retain(|added| *added != id);
        self.removed.push(id);
        self.reshaped = true;
        Ok(())
    }

    fn set_statuses(&mut self, group: &StatusChangeGroup) -> Result<(), StoreFault> {
        if group.nodes.len() > MAX_SINGLE_LOADS {
            for node in self.base.all_nodes()? {
                if !self.removed.contains(&node.id) {
                    self.nodes.entry(node.id).or_insert(node);
                }
            }
        }
        for id in &group.nodes {
            let Some(mut node) = NodeReader::load_node(self, *id)? else {
                return Err(Self::misfit_fault(format!("node {id} does not exist")));
            };
            if node.standing != group.before {
                let what = format!("the status of `{}` is not what it was", node.alias);
                return Err(Self::misfit_fault(what));
            }
            node.standing = group.after.clone();
            self.nodes.insert(*id, node);
        }
        Ok(())
    }

    fn add_version(&mut self, node: NodeId, content: &Content) -> Result<(), StoreFault> {
        let Content::Text {
            version,
            canonical,
            basis,
        } = content
        else {
            return Ok(());
        };
        let (operation, at) = self.applying;
        if VersionReader::load_version(self, node, *version)?.is_none() {
            self.versions.push(Version {
                node,
                hash: *version,
                canonical: *canonical,
                basis: *basis,
                operation,
                at,
                size: self.texts.get(version).map(|text| text.len() as u64),
            });
        }
        Ok(())
    }

    // Looking writes no backup, so there is none to add.
    fn add_backup(&mut self, _backup: Backup) -> Result<(), StoreFault> {
        Ok(())
    }

    fn set_record(
        &mut self,
        record: &RecordKey,
        _before: Option<&Value>,
        after: Option<&Value>,
    ) -> Result<(), StoreFault> {
        self.records.insert(record.clone(), after.cloned());
        Ok(())
    }

    fn set_undone_by(
        &mut self,
        _operation: OperationId,
        _by: Option<OperationId>,
    ) -> Result<(), StoreFault> {
        Ok(())
    }

    fn mismatch_fault(&mut self, what: String) -> StoreFault {
        Self::misfit_fault(what)
    }
}
