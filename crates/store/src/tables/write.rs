//! Write transaction on the tables: applies operations, keeps checksums and totals up to date.
//!
//! How it becomes durable is the engine's part ([`TransactionOwner`]): SQLite appends to the journal before
//! it commits, PostgreSQL only commits.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::sync::LazyLock;

use domain::cascade::StatusChangeGroup;
use domain::fact::{Backup, NodeTable, apply_fact};
use domain::ids::{NodeId, OperationId, VersionHash};
use domain::node::{Content, Node, NodeStatus};
use domain::operation::Operation;
use domain::ports::{
    FileStamp, NewOperation, NodeReader, RecordReader, SHARED_NOTE_PREFIXES, StoreFault,
    Transaction, VersionReader,
};
use domain::record::RecordKey;
use domain::search::{SEARCHED_KINDS, searchable_text};
use domain::secrets::{mask_operation, mask_secrets, masked_notice};
use domain::sync_protocol::SharedNote;
use domain::time::Timestamp;
use domain::version::Version;
use rusqlite::ToSql;
use rusqlite::types::Value;
use serde_json::Value as Json;
use zstd::bulk::Compressor;

use super::checksums::{Checksum, ChecksumPart, record_checksum, total_share};
use super::nodes::child_total_checksum;
use super::operations::head_checksum;
use super::rows::{
    NodeValues, STORED_COLUMN_COUNT, STORED_COLUMNS, cause_body, standing_checksum, standing_values,
};
use super::sql::{NewStatus, SqlParams, StatusChange, params};
use super::store_row::StoreRow;
use super::versions::{version_checksum, version_values};
use super::view::TableView;
use crate::engine::{ChainedOperation, io_fault};
use crate::memory::record_mismatch;

/// Text size from which compressing it and writing its journal line run in parallel.
const PARALLEL_TEXT_BYTES: usize = 256 * 1024;

/// The engine's side of a transaction: commit, rollback, warnings.
pub(crate) trait TransactionOwner {
    /// Makes the transaction durable; has to call [`TableTransaction::write_store_row`].
    fn commit_transaction(&self, transaction: &mut TableTransaction<'_>) -> Result<(), StoreFault>;

    /// Discards the transaction.
    fn roll_back(&self);

    /// Receives warnings for the user after a commit.
    fn add_warnings(&self, warnings: Vec<String>);
}

/// A write transaction on the tables; rolls back if dropped without a commit.
pub(crate) struct TableTransaction<'s> {
    keeper: &'s dyn TransactionOwner,
    pub(crate) view: TableView<'s>,
    /// The operations of this transaction, as journal lines and as values.
    pub(crate) lines: Vec<String>,
    pub(crate) operations: Vec<Operation>,
    /// Notes written in this transaction that all working copies share.
    pub(crate) shared_notes: Vec<SharedNote>,
    /// The `store` row at the start of the transaction.
    pub(crate) found: StoreRow,
    /// Id and time of the operation whose facts are being applied.
    applying: (OperationId, Timestamp),
    /// Pending changes of child totals, by parent; written once per operation, not once per child.
    child_changes: BTreeMap<NodeId, i64>,
    /// Nodes that got a version in this transaction.
    versioned: HashSet<NodeId>,
    /// Whether file stamps were saved in this transaction.
    has_stamps: bool,
    /// The lineage of the last parent of a new node: siblings are mostly added one after the other.
    last_lineage: Option<(NodeId, Vec<u8>)>,
    /// Sizes of the texts of the operation that is being applied.
    text_sizes: HashMap<VersionHash, u64>,
    /// Warnings about masked secrets, reported after the commit.
    warnings: Vec<String>,
    pub(crate) finished: bool,
}

impl<'s> TableTransaction<'s> {
    /// Wraps a begun transaction; `view` has the `store` row as read in it.
    pub(crate) fn new(keeper: &'s dyn TransactionOwner, view: TableView<'s>) -> Self {
        Self {
            keeper,
            found: view.store.clone(),
            view,
            lines: Vec::new(),
            operations: Vec::new(),
            shared_notes: Vec::new(),
            applying: (OperationId(0), Timestamp::from_millis(0)),
            child_changes: BTreeMap::new(),
            versioned: HashSet::new(),
            has_stamps: false,
            last_lineage: None,
            text_sizes: HashMap::new(),
            warnings: Vec::new(),
            finished: false,
        }
    }

    /// Replaces the engine's side of the transaction.
    pub(crate) fn owned_by(mut self, keeper: &'s dyn TransactionOwner) -> Self {
        self.keeper = keeper;
        self
    }

    fn execute_statement(&self, sql: &str, values: SqlParams<'_>) -> Result<usize, StoreFault> {
        self.view.sql.execute_statement(sql, values)
    }

    /// Updates a row, or inserts it if there is none. Safe in two statements, because the write
    /// lock is held.
    fn upsert_row(
        &self,
        update: &str,
        insert: &str,
        values: SqlParams<'_>,
    ) -> Result<(), StoreFault> {
        // UPDATE first, because stamps and notes mostly exist already.
        if self.execute_statement(update, values)? == 0 {
            self.execute_statement(insert, values)?;
        }
        Ok(())
    }

    /// Applies an operation that already has its id and its place in the chain.
    pub(crate) fn apply_recorded(&mut self, recorded: &ChainedOperation) -> Result<(), StoreFault> {
        // One context for all texts: making it takes longer than packing a plan.
        let mut packer: Option<Compressor<'_>> = None;
        for (hash, text) in &recorded.texts {
            let packed = pack_text(&mut packer, text)
                .map_err(|error| io_fault("cannot compress", "a text".as_ref(), error))?;
            self.execute_statement(
                "INSERT INTO text (hash, size, zstd) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
                params![
                    hash.0.0.as_slice(),
                    i64::try_from(text.len()).unwrap_or(i64::MAX),
                    packed
                ],
            )?;
        }
        let sizes = recorded.texts.iter();
        self.text_sizes = sizes
            .map(|(hash, text)| (*hash, text.len() as u64))
            .collect();
        let operation = &recorded.operation;
        self.applying = (operation.id, operation.at);
        for fact in &operation.facts {
            apply_fact(self, fact, operation.at)?;
        }
        self.write_child_totals()?;
        let id = operation.id.0.cast_signed();
        let head = serde_json::to_string(&operation.to_head()).map_err(|error| StoreFault::Io {
            action: format!("cannot write operation {id} as JSON"),
            source: error.into(),
        })?;
        self.execute_statement(
            "INSERT INTO operation (id, head, head_sum, prev, hash, key, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                id,
                head,
                head_checksum(id, &head),
                recorded.prev.0.as_slice(),
                recorded.hash.0.as_slice(),
                operation.key.as_deref(),
                recorded.body.as_str(),
            ],
        )?;
        super::touched_index::index_touched_nodes(&self.view, operation)?;
        self.view.store.head = operation.id;
        self.view.store.head_hash = recorded.hash;
        Ok(())
    }

    /// Writes the `store` row if its head is unchanged since the start (optimistic check); the
    /// engine commits.
    pub(crate) fn write_store_row(&mut self, journal_size: u64) -> Result<(), StoreFault> {
        self.view.store.journal_size = journal_size;
        let mut values = self.view.store.column_values();
        values.push(Value::Integer(self.found.head.0.cast_signed()));
        let changed = self.execute_statement(
            "UPDATE store SET store_id = ?1, min_reader = ?2, min_writer = ?3, head = ?4, head_hash = ?5, \
             journal_size = ?6, next_node = ?7, node_total = ?8, sum = ?9 WHERE head = ?10",
            &as_sql_params(&values),
        )?;
        // The lock should make this impossible. If another writer got in all the same, failing as
        // locked lets the caller retry on fresh state instead of forking the chain.
        match changed {
            1 => Ok(()),
            _ => Err(StoreFault::Locked { holder: None }),
        }
    }

    fn read_text_size(&self, hash: VersionHash) -> Result<Option<u64>, StoreFault> {
        let sizes = self.view.query_rows(
            "SELECT size FROM text WHERE hash = ?1",
            params![hash.0.0.as_slice()],
            |row| row.get::<i64>(0),
        )?;
        Ok(sizes.first().map(|size| size.cast_unsigned()))
    }

    fn has_stored_text(&self, hash: VersionHash) -> Result<bool, StoreFault> {
        let found = self.view.query_rows(
            "SELECT 1 FROM text WHERE hash = ?1",
            params![hash.0.0.as_slice()],
            |_| Ok(()),
        )?;
        Ok(!found.is_empty())
    }

    fn drop_known_texts(&self, recorded: &mut ChainedOperation) -> Result<(), StoreFault> {
        // The first scan of a project has a text for every plan, and nothing is stored yet.
        let found = self
            .view
            .query_rows("SELECT 1 FROM text LIMIT 1", params![], |_| Ok(()))?;
        if found.is_empty() {
            return Ok(());
        }
        // Many operations refer to a text that is stored already; it is repeated neither in the
        // table nor in the journal.
        let mut fresh = Vec::with_capacity(recorded.texts.len());
        for (hash, text) in std::mem::take(&mut recorded.texts) {
            if !self.has_stored_text(hash)? {
                fresh.push((hash, text));
            }
        }
        recorded.texts = fresh;
        Ok(())
    }

    fn change_child_total(&mut self, parent: Option<NodeId>, child: NodeId) {
        if let Some(parent) = parent {
            // XOR: a child that is added and removed in one operation cancels out.
            *self.child_changes.entry(parent).or_default() ^=
                total_share(ChecksumPart::Children, child.0, 0);
        }
    }

    fn write_child_totals(&mut self) -> Result<(), StoreFault> {
        for (parent, change) in std::mem::take(&mut self.child_changes) {
            if change != 0 {
                let total = self.view.child_total(parent)? ^ change;
                self.execute_statement(
                    "UPDATE node SET child_total = ?2, child_sum = ?3 WHERE id = ?1",
                    params![parent.0, total, child_total_checksum(parent, total)],
                )?;
            }
        }
        Ok(())
    }

    /// Stores the cause of a status; returns its id and its JSON.
    fn insert_status_cause(
        &self,
        standing: &NodeStatus,
    ) -> Result<(Option<i64>, Option<String>), StoreFault> {
        let Some(body) = cause_body(standing)? else {
            return Ok((None, None));
        };
        let sql = "INSERT INTO cause (body) VALUES (?1) RETURNING id";
        let id = self
            .view
            .query_rows(sql, params![body], |row| row.get::<i64>(0))?
            .first()
            .copied();
        Ok((id, Some(body)))
    }

    /// Updates the changed columns of a node's row, and the table's total.
    fn update_node_row(
        &mut self,
        before: &Node,
        old: &[u8],
        after: &Node,
        new: &[u8],
    ) -> Result<(), StoreFault> {
        let old = NodeValues::from_node(before, old)?;
        let new = NodeValues::from_node(after, new)?;
        self.view.store.node_total ^= old.total_share(after.id) ^ new.total_share(after.id);
        // Only changed columns: binding all of them costs more than the update, and rewriting
        // indexed columns touches their indexes.
        let mut sets = String::new();
        let mut values = vec![Value::Integer(after.id.0.into())];
        for ((column, old), new) in STORED_COLUMNS
            .split(", ")
            .map(str::trim)
            .zip(old.values)
            .zip(new.values)
        {
            if old != new {
                values.push(new);
                let comma = if sets.is_empty() { "" } else { ", " };
                sets.push_str(&format!("{comma}{column} = ?{}", values.len()));
            }
        }
        if values.len() > 1 {
            self.execute_statement(
                &format!("UPDATE node SET {sets} WHERE id = ?1"),
                &as_sql_params(&values),
            )?;
        }
        Ok(())
    }

    fn parent_lineage(&mut self, parent: NodeId) -> Result<Vec<u8>, StoreFault> {
        match &self.last_lineage {
            Some((known, lineage)) if *known == parent => Ok(lineage.clone()),
            _ => {
                let lineage = self.lineage_of(parent)?;
                self.last_lineage = Some((parent, lineage.clone()));
                Ok(lineage)
            }
        }
    }

    fn lineage_of(&self, id: NodeId) -> Result<Vec<u8>, StoreFault> {
        self.view
            .node_lineage(id)?
            .ok_or_else(|| StoreFault::Damaged {
                what: format!("node {id} is gone"),
            })
    }
}

impl Drop for TableTransaction<'_> {
    fn drop(&mut self) {
        if !self.finished {
            self.keeper.roll_back();
        }
    }
}

impl Transaction for TableTransaction<'_> {
    fn next_operation_id(&self) -> Result<OperationId, StoreFault> {
        Ok(self.view.store.head.next_id())
    }

    fn next_node_id(&self) -> Result<NodeId, StoreFault> {
        Ok(NodeId(self.view.store.next_node))
    }

    fn record_operation(&mut self, mut operation: NewOperation) -> Result<OperationId, StoreFault> {
        // Before it is hashed: a secret in the hash chain could only be removed by rewriting
        // history.
        let masked = mask_operation(&mut operation, &self.view)?;
        self.warnings.extend(masked_notice(operation.verb, &masked));
        let mut recorded = ChainedOperation::new(
            self.view.store.head.next_id(),
            self.view.store.head_hash,
            operation,
        )?;
        self.drop_known_texts(&mut recorded)?;
        let line = if recorded
            .texts
            .iter()
            .any(|(_, text)| text.len() > PARALLEL_TEXT_BYTES)
        {
            // Compressing for the tables takes about as long as JSON-encoding for the journal.
            std::thread::scope(|scope| {
                let line = scope.spawn(|| recorded.to_journal_line());
                self.apply_recorded(&recorded)?;
                line.join().unwrap_or_else(|_| recorded.to_journal_line())
            })?
        } else {
            self.apply_recorded(&recorded)?;
            recorded.to_journal_line()?
        };
        self.lines.push(line);
        self.operations.push(recorded.operation);
        Ok(self.view.store.head)
    }

    fn record_journal_line(&mut self, line: &str) -> Result<(), StoreFault> {
        let mut recorded = ChainedOperation::parse_journal_line(
            line,
            self.view.store.head.next_id(),
            self.view.store.head_hash,
        )?;
        self.drop_known_texts(&mut recorded)?;
        self.apply_recorded(&recorded)
            .map_err(|fault| match fault {
                // The line comes from another machine: it is the operation that does not apply, the
                // local state is intact.
                StoreFault::Damaged { what } => StoreFault::DoesNotFit { what },
                other => other,
            })?;
        self.lines.push(recorded.to_journal_line()?);
        self.operations.push(recorded.operation);
        Ok(())
    }

    fn save_file_stamps(
        &mut self,
        stamps: &[(NodeId, FileStamp, VersionHash)],
    ) -> Result<(), StoreFault> {
        let update = "UPDATE stamp SET size = ?2, modified_ns = ?3, changed_ns = ?4, inode = ?5, version = ?6 WHERE node = ?1";
        let insert = "INSERT INTO stamp (node, size, modified_ns, changed_ns, inode, version) \
                      VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let mut stamped = HashSet::new();
        for (node, stamp, version) in stamps {
            let values = params![
                node.0,
                stamp.size.cast_signed(),
                stamp.modified_ns,
                stamp.changed_ns,
                stamp.inode.cast_signed(),
                version.0.0.as_slice(),
            ];
            // A node of this transaction has no stamp yet; in a fresh clone that is every one.
            let is_new = node.0 >= self.found.next_node && stamped.insert(*node);
            match is_new && !self.has_stamps {
                true => self.execute_statement(insert, values).map(drop)?,
                false => self.upsert_row(update, insert, values)?,
            }
        }
        self.has_stamps |= !stamps.is_empty();
        Ok(())
    }

    fn save_note(
        &mut self,
        key: &str,
        body: Option<&str>,
        at: Timestamp,
    ) -> Result<(), StoreFault> {
        // Masked before it is stored: notes hold what agents wrote, and a secret in a database is
        // hard to erase again.
        let body = body.map(mask_secrets);
        let body = body.as_deref();
        if let Some(body) = body.filter(|_| {
            SHARED_NOTE_PREFIXES
                .iter()
                .any(|prefix| key.starts_with(prefix))
        }) {
            self.shared_notes.push(SharedNote {
                key: key.to_owned(),
                body: body.to_owned(),
                at,
            });
        }
        let key = self.view.sql.note_key(key);
        match body {
            Some(body) => self.upsert_row(
                "UPDATE note SET body = ?2, at = ?3 WHERE key = ?1",
                "INSERT INTO note (key, body, at) VALUES (?1, ?2, ?3)",
                params![key, body, at.as_millis()],
            ),
            None => self
                .execute_statement("DELETE FROM note WHERE key = ?1", params![key])
                .map(drop),
        }
    }

    fn delete_notes_before(&mut self, prefix: &str, before: Timestamp) -> Result<(), StoreFault> {
        self.execute_statement(
            "DELETE FROM note WHERE key >= ?1 AND substr(key, 1, length(?1)) = ?1 AND at < ?2",
            params![self.view.sql.note_key(prefix), before.as_millis()],
        )?;
        Ok(())
    }

    fn commit(mut self: Box<Self>) -> Result<(), StoreFault> {
        let keeper = self.keeper;
        keeper.commit_transaction(&mut self)?;
        keeper.add_warnings(std::mem::take(&mut self.warnings));
        Ok(())
    }
}

/// Compresses a text, with a context that is made for the first one.
fn pack_text(packer: &mut Option<Compressor<'_>>, text: &str) -> io::Result<Vec<u8>> {
    // Large texts are written once and rarely read: level 1 takes half the time for slightly more
    // bytes.
    let level = if text.len() > 64 * 1024 { 1 } else { 3 };
    let packer = match packer {
        Some(packer) => packer,
        none => none.insert(Compressor::new(level)?),
    };
    packer.set_compression_level(level)?;
    packer.compress(text.as_bytes())
}

/// The statement that inserts a node.
static INSERT_NODE: LazyLock<String> = LazyLock::new(|| {
    let numbered: Vec<String> = (1..=STORED_COLUMN_COUNT + 2)
        .map(|place| format!("?{place}"))
        .collect();
    format!(
        "INSERT INTO node ({STORED_COLUMNS}, child_total, child_sum) VALUES ({})",
        numbered.join(", ")
    )
});

/// Borrows values as statement parameters.
pub(crate) fn as_sql_params(values: &[Value]) -> Vec<&dyn ToSql> {
    values.iter().map(|value| value as &dyn ToSql).collect()
}

impl NodeTable for TableTransaction<'_> {
    type Fault = StoreFault;

    fn get_node(&mut self, id: NodeId) -> Result<Option<Node>, StoreFault> {
        // Asked for every new node, ten thousand times in a fresh clone.
        if id.0 >= self.view.store.next_node {
            return Ok(None);
        }
        self.view.load_node(id)
    }

    fn insert_node(&mut self, node: Node) -> Result<(), StoreFault> {
        let mut lineage = match node.parent {
            None => Vec::new(),
            Some(parent) => self.parent_lineage(parent)?,
        };
        // Big-endian, so that comparing bytes compares ids.
        lineage.extend_from_slice(&node.id.0.to_be_bytes());
        let row = NodeValues::from_node(&node, &lineage)?;
        let share = row.total_share(node.id);
        let mut values = row.values;
        values.extend([
            Value::Integer(0),
            Value::Integer(child_total_checksum(node.id, 0)),
        ]);
        self.execute_statement(&INSERT_NODE, &as_sql_params(&values))?;
        let (cause, body) = self.insert_status_cause(&node.standing)?;
        let (status, since) = standing_values(&node.standing);
        let standing = standing_checksum(
            node.id,
            &node.standing,
            body.as_deref(),
            &mut Checksum::default(),
        );
        self.execute_statement(
            "INSERT INTO standing (node, status, cause, since, standing_sum) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![node.id.0, status, cause, since, standing],
        )?;
        self.view.store.node_total ^=
            share ^ self::total_share(ChecksumPart::Standing, node.id.0, standing);
        self.view.store.next_node = self.view.store.next_node.max(node.id.0 + 1);
        self.change_child_total(node.parent, node.id);
        Ok(())
    }

    fn replace_node(&mut self, before: &Node, after: Node) -> Result<(), StoreFault> {
        let lineage = self.lineage_of(after.id)?;
        self.update_node_row(before, &lineage, &after, &lineage)
    }

    fn move_node_below(
        &mut self,
        node: &Node,
        parent: Option<NodeId>,
        at: Timestamp,
    ) -> Result<(), StoreFault> {
        let old_top = self.lineage_of(node.id)?;
        let mut new_top = parent
            .map(|parent| self.lineage_of(parent))
            .transpose()?
            .unwrap_or_default();
        if new_top.starts_with(&old_top) {
            return Err(StoreFault::Damaged {
                what: format!("`{}` would become its own descendant", node.alias),
            });
        }
        new_top.extend_from_slice(&node.id.0.to_be_bytes());
        self.last_lineage = None;
        // The subtree query below verifies child totals, so pending ones are written first.
        self.write_child_totals()?;
        // Every descendant's lineage starts with that of the moved node, so all their rows change.
        for before in self.view.load_subtree(node.id)? {
            let old_lineage = self.lineage_of(before.id)?;
            let lineage = [&new_top, &old_lineage[old_top.len()..]].concat();
            let mut after = before.clone();
            if before.id == node.id {
                after.parent = parent;
                after.updated_at = at;
            }
            self.update_node_row(&before, &old_lineage, &after, &lineage)?;
        }
        self.change_child_total(node.parent, node.id);
        self.change_child_total(parent, node.id);
        Ok(())
    }

    fn remove_node(&mut self, id: NodeId) -> Result<(), StoreFault> {
        // Its children may have been removed just before, in the same operation: their pending
        // change has to make the total zero, and need not be written.
        let change = self.child_changes.remove(&id).unwrap_or_default();
        if self.view.child_total(id)? ^ change != 0 {
            return Err(StoreFault::Damaged {
                what: format!("node {id} is removed while it has children"),
            });
        }
        let Some(node) = self.view.load_node(id)? else {
            return Ok(());
        };
        self.last_lineage = None;
        let row = NodeValues::from_node(&node, &self.lineage_of(id)?)?;
        self.execute_statement("DELETE FROM node WHERE id = ?1", params![id.0])?;
        self.execute_statement("DELETE FROM standing WHERE node = ?1", params![id.0])?;
        self.execute_statement("DELETE FROM stamp WHERE node = ?1", params![id.0])?;
        let standing = standing_checksum(
            id,
            &node.standing,
            cause_body(&node.standing)?.as_deref(),
            &mut Checksum::default(),
        );
        self.view.store.node_total ^=
            row.total_share(id) ^ total_share(ChecksumPart::Standing, id.0, standing);
        self.change_child_total(node.parent, id);
        Ok(())
    }

    fn set_statuses(&mut self, group: &StatusChangeGroup) -> Result<(), StoreFault> {
        let before = cause_body(&group.before)?;
        let (cause, after) = self.insert_status_cause(&group.after)?;
        let (status, since) = standing_values(&group.after);
        let (mut sum, mut total) = (Checksum::default(), 0);
        let mut changes = Vec::with_capacity(group.nodes.len());
        for id in &group.nodes {
            let old_sum = standing_checksum(*id, &group.before, before.as_deref(), &mut sum);
            let new_sum = standing_checksum(*id, &group.after, after.as_deref(), &mut sum);
            total ^= total_share(ChecksumPart::Standing, id.0, old_sum)
                ^ total_share(ChecksumPart::Standing, id.0, new_sum);
            changes.push(StatusChange {
                node: *id,
                old_sum,
                new_sum,
            });
        }
        // The old checksum is part of the UPDATE's condition, so a row with another status does not
        // match; one count checks the whole cascade.
        if self.view.sql.update_standings(
            &changes,
            &NewStatus {
                status,
                cause,
                since,
            },
        )? != changes.len()
        {
            return Err(StoreFault::Damaged {
                what: "a node's status differs from the one the fact expects".to_owned(),
            });
        }
        self.view.store.node_total ^= total;
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
        // A node that is new has no version yet; two queries for each of ten thousand took as long
        // as inserting them.
        let known = match node.0 < self.found.next_node || self.versioned.contains(&node) {
            true => self.view.load_version(node, *version)?,
            false => None,
        };
        self.versioned.insert(node);
        let is_known = known.is_some();
        let mut row = match known {
            Some(known) => known,
            None => {
                let size = match self.text_sizes.get(version) {
                    Some(size) => Some(*size),
                    None => self.read_text_size(*version)?,
                };
                Version {
                    node,
                    hash: *version,
                    canonical: *canonical,
                    basis: *basis,
                    operation,
                    at,
                    size,
                }
            }
        };
        // A known version may come back under another parent text: only its basis changes.
        row.basis = *basis;
        let mut values = version_values(&row);
        values.push(Value::Integer(version_checksum(&row)));
        let sql = match is_known {
            true => {
                "UPDATE version SET canonical = ?3, basis_version = ?4, basis_canonical = ?5, operation = ?6, at = ?7, \
                 size = ?8, sum = ?9 WHERE node = ?1 AND hash = ?2"
            }
            false => {
                "INSERT INTO version (node, hash, canonical, basis_version, basis_canonical, operation, at, size, sum) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
            }
        };
        self.execute_statement(sql, &as_sql_params(&values))?;
        Ok(())
    }

    fn add_backup(&mut self, backup: Backup) -> Result<(), StoreFault> {
        self.upsert_row(
            "UPDATE backup SET version = ?2, reason = ?4, at = ?5 WHERE node = ?1 AND path = ?3",
            "INSERT INTO backup (node, version, path, reason, at) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                backup.node.0,
                backup.version.0.0.as_slice(),
                backup.path.as_str(),
                backup.reason.as_str(),
                backup.at.as_millis(),
            ],
        )
    }

    fn set_record(
        &mut self,
        record: &RecordKey,
        before: Option<&Json>,
        after: Option<&Json>,
    ) -> Result<(), StoreFault> {
        let RecordKey { kind, key } = record;
        // The fact names the value it replaces; another one means that the operation was made for a
        // different state.
        if self.view.record_body(kind, key)?.as_ref() != before {
            return Err(StoreFault::Damaged {
                what: record_mismatch(record),
            });
        }
        match after {
            Some(after) => {
                let body = after.to_string();
                let sql = match before {
                    Some(_) => "UPDATE record SET body = ?3, sum = ?4 WHERE kind = ?1 AND key = ?2",
                    None => "INSERT INTO record (kind, key, body, sum) VALUES (?1, ?2, ?3, ?4)",
                };
                self.execute_statement(
                    sql,
                    params![kind, key, body, record_checksum(kind, key, &body)],
                )
            }
            None => self.execute_statement(
                "DELETE FROM record WHERE kind = ?1 AND key = ?2",
                params![kind, key],
            ),
        }?;
        if !SEARCHED_KINDS.contains(&kind.as_str()) {
            return Ok(());
        }
        // Many record changes leave the searchable text alone; reindexing is the expensive part.
        match (before, after) {
            (Some(before), Some(after))
                if searchable_text(kind, before) == searchable_text(kind, after) =>
            {
                Ok(())
            }
            _ => self.view.sql.index_record(record, after),
        }
    }

    fn set_undone_by(
        &mut self,
        operation: OperationId,
        by: Option<OperationId>,
    ) -> Result<(), StoreFault> {
        self.execute_statement(
            "UPDATE operation SET undone_by = ?2 WHERE id = ?1",
            params![operation.0.cast_signed(), by.map(|by| by.0.cast_signed())],
        )?;
        Ok(())
    }

    fn mismatch_fault(&mut self, what: String) -> StoreFault {
        StoreFault::Damaged { what }
    }
}
