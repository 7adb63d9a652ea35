//! In-memory state: the result of replaying a journal.
//!
//! The JSON engine works on it, `verify` and `recovery` replay into it, and tests use it as the
//! reference engine without a disk. Not meant to be fast: lookups that are indexed in SQL are
//! linear scans here.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::cascade::StatusChangeGroup;
use domain::fact::{Backup, Fact, NodeTable, apply_fact};
use domain::ids::{Digest32, NodeId, OperationId, StoreId, VersionHash};
use domain::node::{Content, Node};
use domain::operation::{Operation, OperationHead};
use domain::ports::{
    ChildName, FileStamp, NewOperation, NodeReader, OperationReader, RecordReader, Snapshot, Store,
    StoreFault, StoreFinding, Transaction, VersionReader,
};
use domain::record::RecordKey;
use domain::search::{self, MatchMode, SEARCHED_KINDS, SearchQuery};
use domain::secrets::{MaskedText, mask_operation, mask_secrets, masked_notice};
use domain::status::StatusInputs;
use domain::time::Timestamp;
use domain::tree::{FactMismatch, Tree};
use domain::version::Version;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::engine::{ChainedOperation, hashes_in_records};
use crate::journal;

/// A complete state: tree, versions, texts, history, records, notes.
#[derive(Clone, Debug)]
pub(crate) struct MemoryState {
    pub(crate) store: StoreId,
    pub(crate) tree: Tree,
    pub(crate) versions: BTreeMap<(NodeId, VersionHash), Version>,
    pub(crate) texts: HashMap<VersionHash, String>,
    /// Sizes of texts that were dropped.
    text_sizes: HashMap<VersionHash, u64>,
    pub(crate) operations: Vec<RecordedOperation>,
    pub(crate) undone: BTreeMap<OperationId, OperationId>,
    pub(crate) backups: Vec<Backup>,
    pub(crate) records: BTreeMap<RecordKey, Value>,
    pub(crate) stamps: BTreeMap<NodeId, (FileStamp, VersionHash)>,
    pub(crate) notes: BTreeMap<String, StoredNote>,
    pub(crate) head_hash: Digest32,
    next_node: u32,
    /// The operation whose facts are being applied.
    applying: (OperationId, Timestamp),
}

/// An operation with its serialised body and its link in the hash chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordedOperation {
    pub(crate) operation: Operation,
    pub(crate) body: String,
    pub(crate) prev: Digest32,
    pub(crate) hash: Digest32,
}

impl MemoryState {
    /// Returns the records and what was undone, and drops the rest.
    pub(crate) fn into_records(
        self,
    ) -> (
        BTreeMap<RecordKey, Value>,
        BTreeMap<OperationId, OperationId>,
    ) {
        (self.records, self.undone)
    }

    pub(crate) fn new(store: StoreId) -> Self {
        Self {
            head_hash: journal::chain_start_hash(&store),
            store,
            tree: Tree::default(),
            versions: BTreeMap::new(),
            texts: HashMap::new(),
            text_sizes: HashMap::new(),
            operations: Vec::new(),
            undone: BTreeMap::new(),
            backups: Vec::new(),
            records: BTreeMap::new(),
            stamps: BTreeMap::new(),
            notes: BTreeMap::new(),
            next_node: 1,
            applying: (OperationId(0), Timestamp::from_millis(0)),
        }
    }

    /// Applies one chained operation with its texts.
    pub(crate) fn apply_operation(
        &mut self,
        recorded: &ChainedOperation,
    ) -> Result<(), FactMismatch> {
        self.replay_operation(
            &recorded.operation,
            &recorded.body,
            &recorded.texts,
            recorded.prev,
            recorded.hash,
        )
    }

    /// Applies one operation read from a journal.
    pub(crate) fn replay_operation(
        &mut self,
        operation: &Operation,
        body: &str,
        texts: &[(VersionHash, String)],
        prev: Digest32,
        hash: Digest32,
    ) -> Result<(), FactMismatch> {
        // Texts first: applying a fact looks up the size of the version it names.
        for (hash, text) in texts {
            self.texts.entry(*hash).or_insert_with(|| text.clone());
        }
        self.applying = (operation.id, operation.at);
        for fact in &operation.facts {
            apply_fact(self, fact, operation.at)?;
        }
        // After the facts, so that a fact that does not apply leaves the head where it was. The
        // tree is then half changed: callers drop the state or work on a copy.
        self.head_hash = hash;
        self.operations.push(RecordedOperation {
            operation: operation.clone(),
            body: body.to_owned(),
            prev,
            hash,
        });
        Ok(())
    }

    /// Applies one fact of an operation, which is not kept. For a state that is compared and not
    /// used.
    pub(crate) fn replay_fact(
        &mut self,
        operation: OperationId,
        at: Timestamp,
        fact: &Fact,
    ) -> Result<(), FactMismatch> {
        self.applying = (operation, at);
        apply_fact(self, fact, at)
    }

    /// Notes the sizes of texts that are not kept; versions record them.
    pub(crate) fn note_text_sizes(&mut self, sizes: &[(VersionHash, u64)]) {
        self.text_sizes.extend(sizes.iter().copied());
    }

    /// Returns the id of the last operation; 0 for an empty history.
    pub(crate) fn head(&self) -> OperationId {
        self.operations
            .last()
            .map(|recorded| recorded.operation.id)
            .unwrap_or_default()
    }

    /// Returns the id for the next new node.
    pub(crate) fn next_node_id(&self) -> NodeId {
        NodeId(self.next_node)
    }
}

/// Message for a fact whose "before" does not match the stored record.
pub(crate) fn record_mismatch(record: &RecordKey) -> String {
    format!(
        "the record {}/{} has changed since",
        record.kind, record.key
    )
}

impl NodeTable for MemoryState {
    type Fault = FactMismatch;

    fn get_node(&mut self, id: NodeId) -> Result<Option<Node>, FactMismatch> {
        NodeTable::get_node(&mut self.tree, id)
    }

    fn insert_node(&mut self, node: Node) -> Result<(), FactMismatch> {
        // Never decreases: the id of a removed node must not be assigned to another one.
        self.next_node = self.next_node.max(node.id.0 + 1);
        self.tree.insert_node(node)
    }

    fn replace_node(&mut self, before: &Node, after: Node) -> Result<(), FactMismatch> {
        self.tree.replace_node(before, after)
    }

    fn move_node_below(
        &mut self,
        node: &Node,
        parent: Option<NodeId>,
        at: Timestamp,
    ) -> Result<(), FactMismatch> {
        self.tree.move_node_below(node, parent, at)
    }

    fn remove_node(&mut self, id: NodeId) -> Result<(), FactMismatch> {
        self.tree.remove_node(id)
    }

    fn set_statuses(&mut self, group: &StatusChangeGroup) -> Result<(), FactMismatch> {
        self.tree.set_statuses(group)
    }

    fn add_version(&mut self, node: NodeId, content: &Content) -> Result<(), FactMismatch> {
        let Content::Text {
            version,
            canonical,
            basis,
        } = content
        else {
            return Ok(());
        };
        let kept = self.texts.get(version).map(|text| text.len() as u64);
        let size = kept.or_else(|| self.text_sizes.get(version).copied());
        let (operation, at) = self.applying;
        self.versions
            .entry((node, *version))
            // A text that returns keeps its first operation and time; only the parent's text it
            // counts against is new.
            .and_modify(|known| known.basis = *basis)
            .or_insert(Version {
                node,
                hash: *version,
                canonical: *canonical,
                basis: *basis,
                operation,
                at,
                size,
            });
        Ok(())
    }

    fn add_backup(&mut self, backup: Backup) -> Result<(), FactMismatch> {
        self.backups.push(backup);
        Ok(())
    }

    fn set_record(
        &mut self,
        record: &RecordKey,
        before: Option<&Value>,
        after: Option<&Value>,
    ) -> Result<(), FactMismatch> {
        // Optimistic concurrency: a fact decided on another value must not overwrite this one.
        if self.records.get(record) != before {
            return Err(FactMismatch(record_mismatch(record)));
        }
        match after {
            Some(after) => self.records.insert(record.clone(), after.clone()),
            None => self.records.remove(record),
        };
        Ok(())
    }

    fn set_undone_by(
        &mut self,
        operation: OperationId,
        by: Option<OperationId>,
    ) -> Result<(), FactMismatch> {
        match by {
            Some(by) => self.undone.insert(operation, by),
            None => self.undone.remove(&operation),
        };
        Ok(())
    }

    fn mismatch_fault(&mut self, what: String) -> FactMismatch {
        FactMismatch(what)
    }
}

impl NodeReader for MemoryState {
    fn load_node(&self, id: NodeId) -> Result<Option<Node>, StoreFault> {
        Ok(self.tree.get(id).cloned())
    }

    fn nodes_by_alias(&self, alias: &str) -> Result<Vec<Node>, StoreFault> {
        Ok(self
            .tree
            .nodes()
            .filter(|node| node.alias == alias)
            .cloned()
            .collect())
    }

    fn children_by_alias(&self, parent: NodeId, alias: &str) -> Result<Vec<Node>, StoreFault> {
        Ok(self
            .tree
            .children(parent)
            .filter(|node| node.alias == alias)
            .cloned()
            .collect())
    }

    fn load_children(&self, parent: NodeId) -> Result<Vec<Node>, StoreFault> {
        Ok(self.tree.children(parent).cloned().collect())
    }

    fn child_names(&self, parent: NodeId) -> Result<Vec<ChildName>, StoreFault> {
        let mut names: Vec<ChildName> = self
            .tree
            .children(parent)
            .map(|child| ChildName {
                level: child.level.clone(),
                order: child.order,
                alias: child.alias.clone(),
                id: child.id,
            })
            .collect();
        names.sort();
        Ok(names)
    }

    fn all_nodes(&self) -> Result<Vec<Node>, StoreFault> {
        Ok(self.tree.all_preorder().into_iter().cloned().collect())
    }

    fn nodes_outside(&self, profiles: &[&str]) -> Result<Vec<Node>, StoreFault> {
        let wanted = |node: &&Node| !profiles.contains(&node.profile.as_str());
        Ok(self
            .tree
            .all_preorder()
            .into_iter()
            .filter(wanted)
            .cloned()
            .collect())
    }

    fn load_subtree(&self, top: NodeId) -> Result<Vec<Node>, StoreFault> {
        Ok(self
            .tree
            .subtree_preorder(top)
            .into_iter()
            .cloned()
            .collect())
    }

    fn load_status_inputs(&self, top: NodeId) -> Result<Vec<StatusInputs>, StoreFault> {
        Ok(self.tree.subtree_status_inputs(top))
    }
}

impl VersionReader for MemoryState {
    fn load_versions(&self, node: NodeId) -> Result<Vec<Version>, StoreFault> {
        let mut found: Vec<Version> = self
            .versions
            .values()
            .filter(|version| version.node == node)
            .cloned()
            .collect();
        // Newest first; the hash makes the order deterministic within one operation.
        found.sort_by_key(|version| std::cmp::Reverse((version.operation, version.hash)));
        Ok(found)
    }

    fn load_version(&self, node: NodeId, hash: VersionHash) -> Result<Option<Version>, StoreFault> {
        Ok(self.versions.get(&(node, hash)).cloned())
    }

    fn load_text(&self, hash: VersionHash) -> Result<Option<String>, StoreFault> {
        if let Some(text) = self.texts.get(&hash) {
            return Ok(Some(text.clone()));
        }
        // A version whose text held secrets is stored masked, under the hash of the masked text.
        let masked = MaskedText::read_record(self, hash)?;
        Ok(masked.and_then(|masked| self.texts.get(&masked.kept).cloned()))
    }

    fn load_backups(&self, node: NodeId) -> Result<Vec<Backup>, StoreFault> {
        Ok(self
            .backups
            .iter()
            .rev()
            .filter(|backup| backup.node == node)
            .cloned()
            .collect())
    }

    fn file_stamp(&self, node: NodeId) -> Result<Option<(FileStamp, VersionHash)>, StoreFault> {
        Ok(self.stamps.get(&node).copied())
    }

    fn file_stamps(&self) -> Result<Vec<(NodeId, FileStamp, VersionHash)>, StoreFault> {
        Ok(self
            .stamps
            .iter()
            .map(|(node, (stamp, version))| (*node, *stamp, *version))
            .collect())
    }
}

impl OperationReader for MemoryState {
    fn last_operation_id(&self) -> Result<OperationId, StoreFault> {
        Ok(self.head())
    }

    fn load_operations(
        &self,
        before: Option<OperationId>,
        most: usize,
    ) -> Result<Vec<Operation>, StoreFault> {
        Ok(self
            .operations
            .iter()
            .rev()
            .map(|recorded| &recorded.operation)
            .filter(|operation| before.is_none_or(|before| operation.id < before))
            .take(most)
            .cloned()
            .collect())
    }

    fn operation_heads(
        &self,
        before: Option<OperationId>,
        most: usize,
    ) -> Result<Vec<OperationHead>, StoreFault> {
        Ok(self
            .load_operations(before, most)?
            .iter()
            .map(Operation::to_head)
            .collect())
    }

    fn load_operation(&self, id: OperationId) -> Result<Option<Operation>, StoreFault> {
        Ok(self
            .operations
            .iter()
            .map(|recorded| &recorded.operation)
            .find(|operation| operation.id == id)
            .cloned())
    }

    fn undone_by(&self, id: OperationId) -> Result<Option<OperationId>, StoreFault> {
        Ok(self.undone.get(&id).copied())
    }

    fn chain_hash(&self, id: OperationId) -> Result<Option<Digest32>, StoreFault> {
        if id == OperationId(0) {
            return Ok(Some(journal::chain_start_hash(&self.store)));
        }
        Ok(self
            .operations
            .iter()
            .rev()
            .find(|recorded| recorded.operation.id == id)
            .map(|recorded| recorded.hash))
    }

    fn journal_lines(&self, after: OperationId, most: usize) -> Result<Vec<String>, StoreFault> {
        let (mut lines, mut bytes) = (Vec::new(), 0);
        for recorded in self
            .operations
            .iter()
            .filter(|recorded| recorded.operation.id > after)
        {
            // Checked before the line is rendered, so that at least one line is returned however
            // long it is.
            if bytes >= most {
                break;
            }
            let id = recorded.operation.id;
            // A text is attached to the operation that introduced it, so that each is transferred
            // once.
            let first = |hash: VersionHash| {
                self.versions
                    .values()
                    .filter(|version| version.hash == hash)
                    .map(|version| version.operation)
                    .min()
            };
            let hashes: BTreeSet<VersionHash> = self
                .versions
                .values()
                .filter(|version| version.operation == id)
                .map(|version| version.hash)
                .collect();
            let mut texts: Vec<(VersionHash, &str)> = Vec::new();
            for hash in hashes.into_iter().filter(|hash| first(*hash) == Some(id)) {
                // The text of a masked version is stored and transferred under its own hash.
                let hash = match self.texts.contains_key(&hash) {
                    true => hash,
                    false => {
                        MaskedText::read_record(self, hash)?.map_or(hash, |masked| masked.kept)
                    }
                };
                texts.extend(self.texts.get(&hash).map(|text| (hash, text.as_str())));
            }
            // Texts that are no version: of decision files and plan documents.
            for hash in hashes_in_records(&recorded.operation) {
                if let Some(text) = self.texts.get(&hash)
                    && first(hash).is_none_or(|first| first > id)
                    && texts.iter().all(|(known, _)| *known != hash)
                {
                    texts.push((hash, text.as_str()));
                }
            }
            let line =
                journal::render_journal_line(&recorded.body, &texts, recorded.prev, recorded.hash)
                    .map_err(|error| StoreFault::Io {
                        action: format!("cannot write operation {id} as JSON"),
                        source: error.into(),
                    })?;
            bytes += line.len();
            lines.push(line);
        }
        Ok(lines)
    }
}

impl RecordReader for MemoryState {
    fn record_body(&self, kind: &str, key: &str) -> Result<Option<Value>, StoreFault> {
        Ok(self
            .records
            .get(&RecordKey {
                kind: kind.to_owned(),
                key: key.to_owned(),
            })
            .cloned())
    }

    fn records_by_prefix(
        &self,
        kind: &str,
        prefix: &str,
    ) -> Result<Vec<(String, Value)>, StoreFault> {
        let from = RecordKey {
            kind: kind.to_owned(),
            key: prefix.to_owned(),
        };
        Ok(self
            .records
            .range(from..)
            .take_while(|(record, _)| record.kind == kind && record.key.starts_with(prefix))
            .map(|(record, body)| (record.key.clone(), body.clone()))
            .collect())
    }

    fn search_records(
        &self,
        kinds: &[&str],
        query: &SearchQuery,
        matching: MatchMode,
        most: usize,
    ) -> Result<Vec<RecordKey>, StoreFault> {
        // All searchable kinds are ranked and filtered afterwards: word frequencies, and so the
        // order, must not depend on the kinds asked for.
        let searched: Vec<&RecordKey> = self
            .records
            .keys()
            .filter(|record| SEARCHED_KINDS.contains(&record.kind.as_str()))
            .collect();
        let texts: Vec<Vec<String>> = searched
            .iter()
            .map(|record| {
                search::split_words(&search::searchable_text(
                    &record.kind,
                    &self.records[*record],
                ))
            })
            .collect();
        let wanted = |index: usize| kinds.contains(&searched[index].kind.as_str());
        let found = search::rank_texts(&texts, query, matching, &wanted);
        Ok(found
            .into_iter()
            .take(most)
            .map(|index| searched[index].clone())
            .collect())
    }

    fn load_note(&self, key: &str) -> Result<Option<String>, StoreFault> {
        Ok(self.notes.get(key).map(|note| note.body.clone()))
    }

    fn has_notes(&self, prefix: &str) -> Result<bool, StoreFault> {
        let mut from = self.notes.range(prefix.to_owned()..);
        Ok(from.next().is_some_and(|(key, _)| key.starts_with(prefix)))
    }
}

impl Snapshot for MemoryState {
    fn store_id(&self) -> Result<StoreId, StoreFault> {
        Ok(self.store.clone())
    }
}

/// A stored note with the time it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredNote {
    pub(crate) body: String,
    pub(crate) at: Timestamp,
}

/// An in-memory store, for tests and dry runs.
#[derive(Debug)]
pub struct MemoryStore {
    state: Mutex<MemoryState>,
    warnings: Mutex<Vec<String>>,
}

impl MemoryStore {
    /// Returns an empty store.
    #[must_use]
    pub fn new(store: StoreId) -> Self {
        Self::from_state(MemoryState::new(store))
    }

    /// Returns a store with this state.
    pub(crate) fn from_state(state: MemoryState) -> Self {
        Self {
            state: Mutex::new(state),
            warnings: Mutex::default(),
        }
    }

    fn lock_state(&self) -> MutexGuard<'_, MemoryState> {
        // The state is replaced as a whole, so a panic in another thread left it consistent: a
        // poisoned lock is safe to use.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for MemoryStore {
    fn begin_read(&self) -> Result<Box<dyn Snapshot + '_>, StoreFault> {
        Ok(Box::new(self.lock_state().clone()))
    }

    fn begin_write(&self) -> Result<Box<dyn Transaction + '_>, StoreFault> {
        // Copy-on-write instead of a lock held by the transaction: readers never wait, and a drop
        // without commit changes nothing. Two concurrent writers would lose one commit; the store
        // has a single owner.
        let draft = self.lock_state().clone();
        Ok(Box::new(MemoryTransaction {
            draft,
            keep: Box::new(|draft, _| {
                *self.lock_state() = draft;
                Ok(())
            }),
            lines: Vec::new(),
            warnings: &self.warnings,
        }))
    }

    fn verify_integrity(&self) -> Result<Vec<StoreFinding>, StoreFault> {
        Ok(Vec::new())
    }

    fn finish_mirror(&self) {}

    fn sync_mirror(&self) -> Result<usize, StoreFault> {
        Ok(0)
    }

    fn take_warnings(&self) -> Vec<String> {
        drain_warnings(&self.warnings)
    }
}

/// Drains a list of warnings.
pub(crate) fn drain_warnings(warnings: &Mutex<Vec<String>>) -> Vec<String> {
    std::mem::take(&mut *warnings.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Commit callback: publishes the changed state, given the new journal lines.
pub(crate) type CommitFn<'s> =
    Box<dyn FnOnce(MemoryState, Vec<String>) -> Result<(), StoreFault> + 's>;

/// A transaction on a copy of the state; `keep` publishes it on commit.
pub(crate) struct MemoryTransaction<'s> {
    pub(crate) draft: MemoryState,
    pub(crate) keep: CommitFn<'s>,
    pub(crate) lines: Vec<String>,
    /// Warnings for the user, shared with the store.
    pub(crate) warnings: &'s Mutex<Vec<String>>,
}

impl Transaction for MemoryTransaction<'_> {
    fn next_operation_id(&self) -> Result<OperationId, StoreFault> {
        Ok(self.draft.head().next_id())
    }

    fn next_node_id(&self) -> Result<NodeId, StoreFault> {
        Ok(self.draft.next_node_id())
    }

    fn record_operation(&mut self, mut operation: NewOperation) -> Result<OperationId, StoreFault> {
        // Masked here, where every operation enters a store, so that no use case can forget it.
        let masked = mask_operation(&mut operation, &self.draft)?;
        self.warnings
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(masked_notice(operation.verb, &masked));
        let id = self.draft.head().next_id();
        let mut recorded = ChainedOperation::new(id, self.draft.head_hash, operation)?;
        recorded
            .texts
            // A text the history already has is not written to the journal a second time.
            .retain(|(hash, _)| !self.draft.texts.contains_key(hash));
        self.draft
            .apply_operation(&recorded)
            .map_err(|FactMismatch(what)| StoreFault::Damaged { what })?;
        self.lines.push(recorded.to_journal_line()?);
        Ok(id)
    }

    fn record_journal_line(&mut self, line: &str) -> Result<(), StoreFault> {
        let recorded = ChainedOperation::parse_journal_line(
            line,
            self.draft.head().next_id(),
            self.draft.head_hash,
        )?;
        self.draft
            .apply_operation(&recorded)
            // `DoesNotFit` and not `Damaged`: the line comes from a client, and it is the line that
            // is wrong.
            .map_err(|FactMismatch(what)| StoreFault::DoesNotFit { what })?;
        self.lines.push(recorded.to_journal_line()?);
        Ok(())
    }

    fn save_file_stamps(
        &mut self,
        stamps: &[(NodeId, FileStamp, VersionHash)],
    ) -> Result<(), StoreFault> {
        self.draft.stamps.extend(
            stamps
                .iter()
                .map(|(node, stamp, version)| (*node, (*stamp, *version))),
        );
        Ok(())
    }

    fn save_note(
        &mut self,
        key: &str,
        body: Option<&str>,
        at: Timestamp,
    ) -> Result<(), StoreFault> {
        match body {
            Some(body) => self.draft.notes.insert(
                key.to_owned(),
                StoredNote {
                    body: mask_secrets(body).into_owned(),
                    at,
                },
            ),
            None => self.draft.notes.remove(key),
        };
        Ok(())
    }

    fn delete_notes_before(&mut self, prefix: &str, before: Timestamp) -> Result<(), StoreFault> {
        self.draft
            .notes
            .retain(|key, note| !key.starts_with(prefix) || note.at >= before);
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<(), StoreFault> {
        let Self {
            draft, keep, lines, ..
        } = *self;
        keep(draft, lines)
    }
}
