//! Read access to the state: one trait per noun, and [`Snapshot`] as their sum.
//!
//! A function that needs one noun can take the small trait; most take a snapshot.

use serde_json::Value;

use crate::fact::Backup;
use crate::fact::Fact;
use crate::ids::{Digest32, NodeId, OperationId, StoreId, VersionHash};
use crate::node::Node;
use crate::operation::{Operation, OperationHead};
use crate::ports::{FileStamp, StoreFault};
use crate::record::RecordKey;
use crate::search::{MatchMode, SearchQuery};
use crate::status::StatusInputs;
use crate::time::Timestamp;
use crate::version::Version;

/// A child's name and sort key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChildName {
    pub level: String,
    pub order: i64,
    pub alias: String,
    pub id: NodeId,
}

/// Reads the tree of nodes.
pub trait NodeReader {
    /// Returns a node.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn load_node(&self, id: NodeId) -> Result<Option<Node>, StoreFault>;

    /// Returns every node with this alias.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn nodes_by_alias(&self, alias: &str) -> Result<Vec<Node>, StoreFault>;

    /// Returns the children of this node with this alias.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn children_by_alias(&self, parent: NodeId, alias: &str) -> Result<Vec<Node>, StoreFault>;

    /// Returns a node's children, in no particular order.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn load_children(&self, parent: NodeId) -> Result<Vec<Node>, StoreFault>;

    /// Returns only the names of a node's children, which is cheaper than loading them.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn child_names(&self, parent: NodeId) -> Result<Vec<ChildName>, StoreFault>;

    /// Returns every node; parents come before their children.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn all_nodes(&self) -> Result<Vec<Node>, StoreFault>;

    /// Returns every node except those of these profiles; parents come before their children.
    ///
    /// The excluded nodes are not read at all.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn nodes_outside(&self, profiles: &[&str]) -> Result<Vec<Node>, StoreFault>;

    /// Returns a node and its descendants; parents come before their children.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn load_subtree(&self, top: NodeId) -> Result<Vec<Node>, StoreFault>;

    /// Returns the status inputs of a node and its descendants; parents come before their children.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn load_status_inputs(&self, top: NodeId) -> Result<Vec<StatusInputs>, StoreFault>;
}

/// Reads the texts of nodes: versions, backups, and the stamps of their files.
pub trait VersionReader {
    /// Returns a node's versions, newest first.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn load_versions(&self, node: NodeId) -> Result<Vec<Version>, StoreFault>;

    /// Returns one version of a node.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn load_version(&self, node: NodeId, hash: VersionHash) -> Result<Option<Version>, StoreFault>;

    /// Returns a stored text, verified against its hash.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn load_text(&self, hash: VersionHash) -> Result<Option<String>, StoreFault>;

    /// Returns a node's readable backups, newest first.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn load_backups(&self, node: NodeId) -> Result<Vec<Backup>, StoreFault>;

    /// Returns the file stamp of a node's last read, with the version it had then.
    ///
    /// A local cache, not part of the state: it may be empty.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn file_stamp(&self, node: NodeId) -> Result<Option<(FileStamp, VersionHash)>, StoreFault>;

    /// Returns every cached file stamp.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn file_stamps(&self) -> Result<Vec<(NodeId, FileStamp, VersionHash)>, StoreFault>;
}

/// Reads the history.
pub trait OperationReader {
    /// Returns the id of the last operation.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn last_operation_id(&self) -> Result<OperationId, StoreFault>;

    /// Returns up to `most` operations before `before` (or the last ones), newest first.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn load_operations(
        &self,
        before: Option<OperationId>,
        most: usize,
    ) -> Result<Vec<Operation>, StoreFault>;

    /// Like [`Self::load_operations`], without loading the facts.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn operation_heads(
        &self,
        before: Option<OperationId>,
        most: usize,
    ) -> Result<Vec<OperationHead>, StoreFault>;

    /// Returns one operation without its facts.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn operation_head(&self, id: OperationId) -> Result<Option<OperationHead>, StoreFault> {
        // The newest one before the next id is this one, or an older one if the id does not exist.
        Ok(self
            .operation_heads(Some(id.next_id()), 1)?
            .pop()
            .filter(|head| head.id == id))
    }

    /// Like [`Self::operation_heads`], for the operations that changed one node.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn operation_heads_of_node(
        &self,
        node: NodeId,
        before: Option<OperationId>,
        most: usize,
    ) -> Result<Vec<OperationHead>, StoreFault> {
        // `operations` and not the heads: which nodes were touched is in the facts.
        let (mut found, mut before) = (Vec::new(), before);
        // Fallback that pages through the whole log; engines with an index by node override it.
        while found.len() < most {
            let page = self.load_operations(before, 200)?;
            let Some(last) = page.last() else { break };
            before = Some(last.id);
            let touching = page
                .iter()
                .filter(|operation| operation.touched_nodes().contains(&node));
            found.extend(touching.take(most - found.len()).map(Operation::to_head));
        }
        Ok(found)
    }

    /// Returns one operation.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn load_operation(&self, id: OperationId) -> Result<Option<Operation>, StoreFault>;

    /// Calls `visit` with each fact of an operation; returns whether there is one. Engines that store
    /// JSON override it, so that the facts of a large operation are never in memory at once.
    ///
    /// # Errors
    /// [`StoreFault`]. Facts before the error were visited.
    fn visit_facts(
        &self,
        id: OperationId,
        visit: &mut dyn FnMut(Fact),
    ) -> Result<bool, StoreFault> {
        let found = self.load_operation(id)?;
        let is_found = found.is_some();
        let facts = found.into_iter().flat_map(|operation| operation.facts);
        facts.for_each(visit);
        Ok(is_found)
    }

    /// Returns the operation that undid this one, if any.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn undone_by(&self, id: OperationId) -> Result<Option<OperationId>, StoreFault>;

    /// Returns an operation's hash in the hash chain; `None` if there is no such operation.
    ///
    /// Operation 0 has the chain's initial hash.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn chain_hash(&self, id: OperationId) -> Result<Option<Digest32>, StoreFault>;

    /// Returns the operations after `after` as journal lines, oldest first.
    ///
    /// Stops after the line with which the total reaches `most` bytes, so there is always progress.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn journal_lines(&self, after: OperationId, most: usize) -> Result<Vec<String>, StoreFault>;
}

/// Reads records, which are part of the state, and notes, which are not.
pub trait RecordReader {
    /// Returns a record's body.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn record_body(&self, kind: &str, key: &str) -> Result<Option<Value>, StoreFault>;

    /// Returns the records of a kind whose key starts with `prefix`, by key.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn records_by_prefix(
        &self,
        kind: &str,
        prefix: &str,
    ) -> Result<Vec<(String, Value)>, StoreFault>;

    /// Returns the bodies of the records of a kind as JSON text, by key.
    ///
    /// For readers of thousands of records that parse each into a type of its own: with a [`Value`] in
    /// between, loading a story's memory takes twice as long.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn record_texts(&self, kind: &str) -> Result<Vec<(String, String)>, StoreFault> {
        let records = self.records_by_prefix(kind, "")?.into_iter();
        Ok(records.map(|(key, body)| (key, body.to_string())).collect())
    }

    /// Full-text search: returns the keys of the `most` best matching records of these kinds.
    ///
    /// Only [`crate::search::SEARCHED_KINDS`] are indexed. Tokenisation and ranking are defined in
    /// [`crate::search`]; ties are sorted by kind and key. Every engine returns the same result.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn search_records(
        &self,
        kinds: &[&str],
        query: &SearchQuery,
        matching: MatchMode,
        most: usize,
    ) -> Result<Vec<RecordKey>, StoreFault>;

    /// Returns the note with this key: what a session has read, a pending override of a gate.
    ///
    /// Notes are not part of the state: no operation records them, and losing one is harmless.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn load_note(&self, key: &str) -> Result<Option<String>, StoreFault>;

    /// Returns whether there is a note whose key starts with `prefix`.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn has_notes(&self, prefix: &str) -> Result<bool, StoreFault>;
}

/// A consistent read view of the state.
///
/// Every row's checksum is verified on read: a damaged row is [`StoreFault::Damaged`], never data.
pub trait Snapshot: NodeReader + VersionReader + OperationReader + RecordReader {
    /// Returns the store's identity.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn store_id(&self) -> Result<StoreId, StoreFault>;

    /// Returns the secret id of this working copy; empty if the store has only one.
    fn working_copy_secret(&self) -> String {
        String::new()
    }

    /// Returns the time of the store's own clock, for decisions several machines must agree on;
    /// `None` if that is this machine's clock.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn store_time(&self) -> Result<Option<Timestamp>, StoreFault> {
        Ok(None)
    }
}
