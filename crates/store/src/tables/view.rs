//! Read access to the tables: the queries behind `domain::ports::Snapshot`, with checksums
//! verified.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use domain::fact::Backup;
use domain::ids::{CanonicalHash, Digest32, NodeId, OperationId, StoreId, VersionHash};
use domain::node::{Node, ParentVersion};
use domain::operation::{Operation, OperationHead};
use domain::ports::{ChildName, FileStamp, Snapshot, StoreFault};
use domain::record::RecordKey;
use domain::search::{MatchMode, SearchQuery};
use domain::status::StatusInputs;
use domain::time::Timestamp;
use domain::version::Version;
use rusqlite::types::{Value, ValueRef};
use serde_json::Value as Json;

use super::checksums::{Checksum, ChecksumPart, checksum_of_values, record_checksum, total_share};
use super::rows::{
    BadRow, CauseRow, FOOTING_COLUMNS, NODE_COLUMNS, NODE_JOIN, decode_digest_column, read_footing,
    read_node,
};
use super::sql::{Row, SqlConnection, SqlParams, params};
use crate::journal;

/// The one row of table `store`: identity, required versions, head, totals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoreRow {
    pub(crate) store: StoreId,
    pub(crate) min_reader: i64,
    pub(crate) min_writer: i64,
    pub(crate) head: OperationId,
    pub(crate) head_hash: Digest32,
    pub(crate) journal_size: u64,
    pub(crate) next_node: u32,
    pub(crate) node_total: i64,
}

impl StoreRow {
    pub(crate) fn column_values(&self) -> Vec<Value> {
        let number = |number: u64| Value::Integer(number.cast_signed());
        let mut values = vec![
            Value::Text(self.store.0.clone()),
            Value::Integer(self.min_reader),
            Value::Integer(self.min_writer),
            number(self.head.0),
            Value::Blob(self.head_hash.0.to_vec()),
            number(self.journal_size),
            Value::Integer(self.next_node.into()),
            Value::Integer(self.node_total),
        ];
        values.push(Value::Integer(checksum_of_values(&values)));
        values
    }
}

/// `min_writer` of a sealed state: no program may write it. Older programs refuse it too, because
/// they already check `min_writer`.
const SEALED_MIN_WRITER: i64 = i64::MAX;

impl StoreRow {
    /// Checks that the state is not sealed and that a program of this format may write it.
    pub(crate) fn check_writer(&self, format: i64) -> Result<(), StoreFault> {
        self.check_reader()?;
        match self.min_writer > format {
            true => Err(StoreFault::Newer {
                found: self.min_writer,
                known: format,
            }),
            false => Ok(()),
        }
    }

    /// Checks that the state is not sealed.
    pub(crate) fn check_reader(&self) -> Result<(), StoreFault> {
        if self.is_sealed() {
            Err(StoreFault::Moved)
        } else {
            Ok(())
        }
    }

    /// Marks the state as moved elsewhere.
    pub(crate) fn mark_sealed(&mut self) {
        self.min_writer = SEALED_MIN_WRITER;
    }

    /// Marks the state as usable again by programs from `format` on.
    pub(crate) fn mark_unsealed(&mut self, format: i64) {
        self.min_writer = format;
    }

    pub(crate) fn is_sealed(&self) -> bool {
        self.min_writer == SEALED_MIN_WRITER
    }
}

/// A half-open range of lineages.
type LineageRange = (Vec<u8>, Vec<u8>);

/// The tables as seen by one read or write transaction.
pub(crate) struct TableView<'c> {
    pub(crate) sql: &'c dyn SqlConnection,
    pub(crate) store: StoreRow,
    /// Cache of causes: the nodes of a subtree mostly share one.
    causes: RefCell<HashMap<i64, Rc<CauseRow>>>,
    /// Cache of nodes, for read transactions only: a use case reads the same few again and again.
    known: Option<RefCell<ReadCache>>,
}

/// Cache of a read transaction.
#[derive(Default)]
struct ReadCache {
    nodes: Vec<Node>,
    /// The child names of the last requested parent.
    children: Option<(NodeId, Vec<ChildName>)>,
}

/// Maximum number of cached nodes; more than a use case about one node reads.
const MAX_CACHED_NODES: usize = 32;

/// Reads the `store` row; `locking` is the engine's clause for locking it (` FOR UPDATE`).
pub(crate) fn read_store_row(
    sql: &dyn SqlConnection,
    locking: &str,
) -> Result<StoreRow, StoreFault> {
    let columns = "store_id, min_reader, min_writer, head, head_hash, journal_size, next_node, node_total, sum";
    let mut found = None;
    sql.query_rows(
        &format!("SELECT {columns} FROM store{locking}"),
        params![],
        &mut |row| {
            let store = StoreRow {
                store: StoreId(row.get(0)?),
                min_reader: row.get(1)?,
                min_writer: row.get(2)?,
                head: OperationId(row.get::<i64>(3)?.cast_unsigned()),
                // A damaged hash becomes zeros here and fails the checksum below.
                head_hash: decode_digest_column(row.get_ref(4)?).unwrap_or(Digest32([0; 32])),
                journal_size: row.get::<i64>(5)?.cast_unsigned(),
                next_node: row.get(6)?,
                node_total: row.get(7)?,
            };
            found = Some((store, row.get::<i64>(8)?));
            Ok(())
        },
    )?;
    let damaged = |what: &str| StoreFault::Damaged {
        what: what.to_owned(),
    };
    let (store, sum) = found.ok_or_else(|| damaged("table `store` has no row"))?;
    if store.column_values().last() != Some(&Value::Integer(sum)) {
        return Err(damaged("checksum mismatch in table `store`"));
    }
    Ok(store)
}

impl<'c> TableView<'c> {
    pub(crate) fn new(sql: &'c dyn SqlConnection, store: StoreRow) -> Self {
        Self {
            sql,
            store,
            causes: RefCell::new(HashMap::new()),
            known: None,
        }
    }

    /// As [`Self::new`] for a read transaction: rows cannot change, so nodes are cached.
    pub(crate) fn for_reading(sql: &'c dyn SqlConnection, store: StoreRow) -> Self {
        Self {
            known: Some(RefCell::default()),
            ..Self::new(sql, store)
        }
    }
}

impl TableView<'_> {
    /// Returns a cause by id.
    fn load_cause(&self, id: i64) -> Result<Rc<CauseRow>, BadRow> {
        if let Some(known) = self.causes.borrow().get(&id) {
            return Ok(known.clone());
        }
        let bodies =
            self.query_rows("SELECT body FROM cause WHERE id = ?1", params![id], |row| {
                row.get::<String>(0)
            })?;
        let body = bodies
            .into_iter()
            .next()
            .ok_or_else(|| BadRow::new(format!("cause {id} is missing")))?;
        let row = Rc::new(CauseRow {
            cause: serde_json::from_str(&body)?,
            body,
        });
        self.causes.borrow_mut().insert(id, row.clone());
        Ok(row)
    }

    /// Runs a query and converts every row with `read`.
    pub(crate) fn query_rows<T>(
        &self,
        sql: &str,
        values: SqlParams<'_>,
        mut read: impl FnMut(&Row<'_>) -> Result<T, BadRow>,
    ) -> Result<Vec<T>, StoreFault> {
        let mut found = Vec::new();
        self.sql.query_rows(sql, values, &mut |row| {
            // Results are either a few rows or nearly the whole table: reserving for all nodes in
            // one step avoids copying the vector at every doubling.
            if found.len() == 64 {
                found.reserve_exact(self.store.next_node as usize);
            }
            found.push(read(row)?);
            Ok(())
        })?;
        Ok(found)
    }

    pub(super) fn query_one_row<T>(
        &self,
        sql: &str,
        values: SqlParams<'_>,
        read: impl FnMut(&Row<'_>) -> Result<T, BadRow>,
    ) -> Result<Option<T>, StoreFault> {
        Ok(self.query_rows(sql, values, read)?.pop())
    }

    fn query_node_rows(
        &self,
        condition: &str,
        values: SqlParams<'_>,
    ) -> Result<Vec<Node>, StoreFault> {
        let sql = format!("SELECT {NODE_COLUMNS} FROM {NODE_JOIN} {condition}");
        let mut sum = Checksum::default();
        self.query_rows(&sql, values, |row| {
            Ok(read_node(row, &mut sum, &|id| self.load_cause(id))?.0)
        })
    }

    /// Adds nodes to the cache, up to its limit.
    fn cache_nodes(&self, nodes: &[Node]) {
        let Some(known) = &self.known else { return };
        let known = &mut known.borrow_mut().nodes;
        let room = MAX_CACHED_NODES.saturating_sub(known.len());
        known.extend(nodes.iter().take(room).cloned());
    }

    fn newest_operations(
        &self,
        before: Option<OperationId>,
        most: usize,
    ) -> Result<Vec<RecordedRow>, StoreFault> {
        let sql =
            "SELECT id, body, prev, hash FROM operation WHERE id < ?1 ORDER BY id DESC LIMIT ?2";
        self.query_rows(
            sql,
            params![operation_id_bound(before), to_limit_param(most)],
            RecordedRow::read_row,
        )
    }

    fn query_operation_heads(
        &self,
        condition: &str,
        values: SqlParams<'_>,
    ) -> Result<Vec<OperationHead>, StoreFault> {
        self.query_rows(
            &format!("SELECT id, head, head_sum FROM operation {condition}"),
            values,
            |row| {
                let (id, head): (i64, String) = (row.get(0)?, row.get(1)?);
                if head_checksum(id, &head) != row.get::<i64>(2)? {
                    return Err(BadRow::new(format!(
                        "checksum mismatch in the summary of operation {id}"
                    )));
                }
                Ok(serde_json::from_str(&head)?)
            },
        )
    }

    /// Returns all records.
    pub(crate) fn all_records(&self) -> Result<BTreeMap<RecordKey, Json>, StoreFault> {
        let rows = self.query_rows(
            "SELECT kind, key, body, sum FROM record",
            params![],
            |row| {
                let kind: String = row.get(0)?;
                let (key, body) = read_record(row)?;
                Ok((RecordKey { kind, key }, body))
            },
        )?;
        Ok(rows.into_iter().collect())
    }

    /// Returns a node's lineage: the ids from the root down, four big-endian bytes each.
    pub(crate) fn node_lineage(&self, id: NodeId) -> Result<Option<Vec<u8>>, StoreFault> {
        self.query_one_row(
            "SELECT lineage FROM node WHERE id = ?1",
            params![id.0],
            |row| row.get(0),
        )
    }

    /// Returns the XOR total of a node's children, as stored with the parent.
    pub(crate) fn child_total(&self, id: NodeId) -> Result<i64, StoreFault> {
        self.query_one_row(
            "SELECT id, child_total, child_sum FROM node WHERE id = ?1",
            params![id.0],
            |row| {
                let total: i64 = row.get(1)?;
                Ok((total, child_total_checksum(id, total) == row.get::<i64>(2)?))
            },
        )?
        .filter(|(_, fits)| *fits)
        .map(|(total, _)| total)
        .ok_or_else(|| StoreFault::Damaged {
            what: format!("checksum mismatch in the child total of node {id}"),
        })
    }

    /// Checks that no child row is missing: a lost row has no checksum that could fail.
    fn check_children(
        &self,
        parent: NodeId,
        children: impl Iterator<Item = NodeId>,
    ) -> Result<(), StoreFault> {
        let total = children.fold(0, |total, child| {
            total ^ total_share(ChecksumPart::Children, child.0, 0)
        });
        if total == self.child_total(parent)? {
            return Ok(());
        }
        Err(StoreFault::Damaged {
            what: format!("children of node {parent} are missing"),
        })
    }

    fn subtree_lineage_range(&self, top: NodeId) -> Result<Option<LineageRange>, StoreFault> {
        let Some(start) = self.node_lineage(top)? else {
            return Ok(None);
        };
        let mut end = start.clone();
        // Descendants have `top`'s lineage as prefix, so the next lineage of the same length ends
        // the range: a subtree is one index scan, without recursion.
        for byte in end.iter_mut().rev() {
            if *byte < u8::MAX {
                *byte += 1;
                break;
            }
            *byte = 0;
        }
        Ok(Some((start, end)))
    }

    /// Checks the rows' XOR against the stored total, so that a missing or outdated row shows.
    fn check_total(&self, total: i64) -> Result<(), StoreFault> {
        if total == self.store.node_total {
            return Ok(());
        }
        Err(StoreFault::Damaged {
            what: "checksum mismatch in table `node`: a row is missing or outdated".to_owned(),
        })
    }

    /// Returns the stored bytes of operations `from..=to`, oldest first.
    pub(crate) fn recorded_operation_range(
        &self,
        from: OperationId,
        to: OperationId,
    ) -> Result<Vec<RecordedRow>, StoreFault> {
        self.query_rows(
            "SELECT id, body, prev, hash FROM operation WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
            params![from.0.cast_signed(), to.0.cast_signed()],
            RecordedRow::read_row,
        )
    }
}

/// An operation as stored: its exact JSON and its links in the hash chain.
pub(crate) struct RecordedRow {
    pub(crate) id: OperationId,
    pub(crate) body: String,
    pub(crate) prev: Digest32,
    pub(crate) hash: Digest32,
}

impl RecordedRow {
    /// Reads `id, body, prev, hash`.
    fn read_row(row: &Row<'_>) -> Result<Self, BadRow> {
        Ok(Self {
            id: OperationId(row.get::<i64>(0)?.cast_unsigned()),
            body: row.get(1)?,
            prev: decode_digest_column(row.get_ref(2)?)?,
            hash: decode_digest_column(row.get_ref(3)?)?,
        })
    }

    /// Parses the operation after verifying its hash.
    pub(crate) fn parse_verified_operation(&self) -> Result<Operation, StoreFault> {
        let damaged = |what: String| StoreFault::Damaged { what };
        if journal::hash_operation(self.prev, &self.body) != self.hash {
            return Err(damaged(format!("hash mismatch in operation {}", self.id)));
        }
        let operation: Operation = serde_json::from_str(&self.body)
            .map_err(|error| damaged(format!("cannot parse operation {}: {error}", self.id)))?;
        if operation.id != self.id {
            return Err(damaged(format!(
                "operation {} is stored with the id {}",
                self.id, operation.id
            )));
        }
        Ok(operation)
    }
}

/// Returns the checksum of an operation's summary.
pub(crate) fn head_checksum(id: i64, head: &str) -> i64 {
    let mut sum = Checksum::default();
    sum.add_column_value(ValueRef::Integer(id));
    sum.add_column_value(ValueRef::Text(head.as_bytes()));
    sum.take_checksum()
}

/// Returns the exclusive upper bound of operation ids as a parameter.
fn operation_id_bound(before: Option<OperationId>) -> i64 {
    before.map_or(i64::MAX, |before| before.0.cast_signed())
}

fn to_limit_param(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

/// Returns the checksum of a child total.
pub(crate) fn child_total_checksum(id: NodeId, total: i64) -> i64 {
    checksum_of_values(&[Value::Integer(id.0.into()), Value::Integer(total)])
}

/// Returns the checksum of a version's columns.
pub(crate) fn version_checksum(version: &Version) -> i64 {
    checksum_of_values(&version_values(version))
}

/// Returns the values of a version's columns, without the checksum.
pub(crate) fn version_values(version: &Version) -> Vec<Value> {
    let hash = |digest: Digest32| Value::Blob(digest.0.to_vec());
    vec![
        Value::Integer(version.node.0.into()),
        hash(version.hash.0),
        hash(version.canonical.0),
        version
            .basis
            .map_or(Value::Null, |basis| hash(basis.version.0)),
        version
            .basis
            .map_or(Value::Null, |basis| hash(basis.canonical.0)),
        Value::Integer(version.operation.0.cast_signed()),
        Value::Integer(version.at.as_millis()),
        version
            .size
            .map_or(Value::Null, |size| Value::Integer(size.cast_signed())),
    ]
}

const VERSION_COLUMNS: &str =
    "node, hash, canonical, basis_version, basis_canonical, operation, at, size, sum FROM version";

fn read_version(row: &Row<'_>) -> Result<Version, BadRow> {
    let basis = match (row.get_ref(3)?, row.get_ref(4)?) {
        (ValueRef::Null, _) | (_, ValueRef::Null) => None,
        (version, canonical) => Some(ParentVersion {
            version: VersionHash(decode_digest_column(version)?),
            canonical: CanonicalHash(decode_digest_column(canonical)?),
        }),
    };
    let version = Version {
        node: NodeId(row.get(0)?),
        hash: VersionHash(decode_digest_column(row.get_ref(1)?)?),
        canonical: CanonicalHash(decode_digest_column(row.get_ref(2)?)?),
        basis,
        operation: OperationId(row.get::<i64>(5)?.cast_unsigned()),
        at: Timestamp::from_millis(row.get(6)?),
        size: row.get::<Option<i64>>(7)?.map(i64::cast_unsigned),
    };
    if version_checksum(&version) != row.get::<i64>(8)? {
        return Err(BadRow::new(format!(
            "checksum mismatch in a version of node {}",
            version.node
        )));
    }
    Ok(version)
}

impl Snapshot for TableView<'_> {
    fn store_id(&self) -> Result<StoreId, StoreFault> {
        Ok(self.store.store.clone())
    }

    fn last_operation_id(&self) -> Result<OperationId, StoreFault> {
        Ok(self.store.head)
    }

    fn load_node(&self, id: NodeId) -> Result<Option<Node>, StoreFault> {
        let known = self.known.as_ref().and_then(|known| {
            known
                .borrow()
                .nodes
                .iter()
                .find(|node| node.id == id)
                .cloned()
        });
        if known.is_some() {
            return Ok(known);
        }
        let found = self.query_node_rows("WHERE id = ?1", params![id.0])?;
        self.cache_nodes(&found);
        Ok(found.into_iter().next())
    }

    fn nodes_by_alias(&self, alias: &str) -> Result<Vec<Node>, StoreFault> {
        let found = self.query_node_rows("WHERE alias = ?1", params![alias])?;
        self.cache_nodes(&found);
        Ok(found)
    }

    fn children_by_alias(&self, parent: NodeId, alias: &str) -> Result<Vec<Node>, StoreFault> {
        let found =
            self.query_node_rows("WHERE alias = ?1 AND parent = ?2", params![alias, parent.0])?;
        self.cache_nodes(&found);
        Ok(found)
    }

    fn load_children(&self, parent: NodeId) -> Result<Vec<Node>, StoreFault> {
        let children = self.query_node_rows("WHERE parent = ?1", params![parent.0])?;
        self.check_children(parent, children.iter().map(|child| child.id))?;
        Ok(children)
    }

    fn child_names(&self, parent: NodeId) -> Result<Vec<ChildName>, StoreFault> {
        if let Some(known) = &self.known
            && let Some((_, names)) = known
                .borrow()
                .children
                .as_ref()
                .filter(|(of, _)| *of == parent)
        {
            return Ok(names.clone());
        }
        let mut names = self.query_rows(
            "SELECT level, ord, alias, id FROM node WHERE parent = ?1",
            params![parent.0],
            |row| {
                Ok(ChildName {
                    level: row.get(0)?,
                    order: row.get(1)?,
                    alias: row.get(2)?,
                    id: NodeId(row.get(3)?),
                })
            },
        )?;
        self.check_children(parent, names.iter().map(|child| child.id))?;
        names.sort();
        if let Some(known) = &self.known {
            known.borrow_mut().children = Some((parent, names.clone()));
        }
        Ok(names)
    }

    fn all_nodes(&self) -> Result<Vec<Node>, StoreFault> {
        let (mut total, mut sum) = (0, Checksum::default());
        // Ids are assigned in creation order, so a parent comes before its children.
        let nodes = self.query_rows(
            &format!("SELECT {NODE_COLUMNS} FROM {NODE_JOIN} ORDER BY id"),
            params![],
            |row| {
                let (node, share) = read_node(row, &mut sum, &|id| self.load_cause(id))?;
                total ^= share;
                Ok(node)
            },
        )?;
        self.check_total(total)?;
        Ok(nodes)
    }

    fn nodes_outside(&self, profiles: &[&str]) -> Result<Vec<Node>, StoreFault> {
        // All nodes of a tree have their root's profile, so trees are skipped as a whole.
        let roots = self.query_rows(
            "SELECT id, profile FROM node WHERE parent IS NULL ORDER BY id",
            params![],
            |row| Ok((NodeId(row.get(0)?), row.get::<String>(1)?)),
        )?;
        if roots
            .iter()
            .all(|(_, profile)| !profiles.contains(&profile.as_str()))
        {
            // Nothing to skip: the full scan is faster, and verifies the table's total as well.
            return self.all_nodes();
        }
        let mut found = Vec::new();
        for (root, _) in roots
            .iter()
            .filter(|(_, profile)| !profiles.contains(&profile.as_str()))
        {
            found.append(&mut self.load_subtree(*root)?);
        }
        Ok(found)
    }

    fn load_subtree(&self, top: NodeId) -> Result<Vec<Node>, StoreFault> {
        let Some((start, end)) = self.subtree_lineage_range(top)? else {
            return Ok(Vec::new());
        };
        self.query_node_rows(
            "WHERE lineage >= ?1 AND lineage < ?2 ORDER BY lineage",
            params![start, end],
        )
    }

    fn load_status_inputs(&self, top: NodeId) -> Result<Vec<StatusInputs>, StoreFault> {
        let Some((start, end)) = self.subtree_lineage_range(top)? else {
            return Ok(Vec::new());
        };
        let mut sum = Checksum::default();
        self.query_rows(
            &format!("SELECT {FOOTING_COLUMNS} FROM {NODE_JOIN} WHERE lineage >= ?1 AND lineage < ?2 ORDER BY lineage"),
            params![start, end],
            |row| read_footing(row, &mut sum, &|id| self.load_cause(id)),
        )
    }

    fn load_versions(&self, node: NodeId) -> Result<Vec<Version>, StoreFault> {
        let mut found = self.query_rows(
            &format!("SELECT {VERSION_COLUMNS} WHERE node = ?1"),
            params![node.0],
            read_version,
        )?;
        found.sort_by_key(|version| std::cmp::Reverse((version.operation, version.hash)));
        Ok(found)
    }

    fn load_version(&self, node: NodeId, hash: VersionHash) -> Result<Option<Version>, StoreFault> {
        self.query_one_row(
            &format!("SELECT {VERSION_COLUMNS} WHERE node = ?1 AND hash = ?2"),
            params![node.0, hash.0.0.as_slice()],
            read_version,
        )
    }

    fn load_text(&self, hash: VersionHash) -> Result<Option<String>, StoreFault> {
        self.text_of_version(hash)
    }

    fn load_backups(&self, node: NodeId) -> Result<Vec<Backup>, StoreFault> {
        self.query_rows(
            "SELECT node, version, path, reason, at FROM backup WHERE node = ?1 ORDER BY at DESC, path DESC",
            params![node.0],
            |row| {
                Ok(Backup {
                    node: NodeId(row.get(0)?),
                    version: VersionHash(decode_digest_column(row.get_ref(1)?)?),
                    path: row.get(2)?,
                    reason: row.get(3)?,
                    at: Timestamp::from_millis(row.get(4)?),
                })
            },
        )
    }

    fn load_operations(
        &self,
        before: Option<OperationId>,
        most: usize,
    ) -> Result<Vec<Operation>, StoreFault> {
        self.newest_operations(before, most)?
            .iter()
            .map(RecordedRow::parse_verified_operation)
            .collect()
    }

    fn operation_heads(
        &self,
        before: Option<OperationId>,
        most: usize,
    ) -> Result<Vec<OperationHead>, StoreFault> {
        self.query_operation_heads(
            "WHERE id < ?1 ORDER BY id DESC LIMIT ?2",
            params![operation_id_bound(before), to_limit_param(most)],
        )
    }

    fn operation_heads_of_node(
        &self,
        node: NodeId,
        before: Option<OperationId>,
        most: usize,
    ) -> Result<Vec<OperationHead>, StoreFault> {
        let ids =
            super::touched_index::operations_before(self, node, operation_id_bound(before), most)?;
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            found.append(&mut self.query_operation_heads("WHERE id = ?1", params![id])?);
        }
        Ok(found)
    }

    fn load_operation(&self, id: OperationId) -> Result<Option<Operation>, StoreFault> {
        self.recorded_operation_range(id, id)?
            .pop()
            .map(|row| row.parse_verified_operation())
            .transpose()
    }

    fn undone_by(&self, id: OperationId) -> Result<Option<OperationId>, StoreFault> {
        let found = self.query_one_row(
            "SELECT undone_by FROM operation WHERE id = ?1",
            params![id.0.cast_signed()],
            |row| row.get::<Option<i64>>(0),
        )?;
        Ok(found.flatten().map(|by| OperationId(by.cast_unsigned())))
    }

    fn chain_hash(&self, id: OperationId) -> Result<Option<Digest32>, StoreFault> {
        match id {
            OperationId(0) => Ok(Some(journal::chain_start_hash(&self.store.store))),
            id if id == self.store.head => Ok(Some(self.store.head_hash)),
            id => Ok(self
                .recorded_operation_range(id, id)?
                .pop()
                .map(|row| row.hash)),
        }
    }

    fn journal_lines(&self, after: OperationId, most: usize) -> Result<Vec<String>, StoreFault> {
        // In batches, because `most` limits bytes and the size of an operation is known only when
        // it is read.
        const AT_ONCE: u64 = 100;
        let (mut lines, mut bytes, mut last) = (Vec::new(), 0, after);
        while last < self.store.head && bytes < most {
            let rows =
                self.recorded_operation_range(last.next_id(), OperationId(last.0 + AT_ONCE))?;
            let Some(newest) = rows.last().map(|row| row.id) else {
                break;
            };
            for row in &rows {
                let line = self.load_recorded_entry(row)?.to_journal_line()?;
                bytes += line.len();
                lines.push(line);
                if bytes >= most {
                    break;
                }
            }
            last = newest;
        }
        Ok(lines)
    }

    fn file_stamp(&self, node: NodeId) -> Result<Option<(FileStamp, VersionHash)>, StoreFault> {
        let found = self.query_one_row(
            "SELECT node, size, modified_ns, changed_ns, inode, version FROM stamp WHERE node = ?1",
            params![node.0],
            read_stamp,
        )?;
        Ok(found.map(|(_, stamp, version)| (stamp, version)))
    }

    fn file_stamps(&self) -> Result<Vec<(NodeId, FileStamp, VersionHash)>, StoreFault> {
        self.query_rows(
            "SELECT node, size, modified_ns, changed_ns, inode, version FROM stamp",
            params![],
            read_stamp,
        )
    }

    fn record_body(&self, kind: &str, key: &str) -> Result<Option<Json>, StoreFault> {
        let sql = "SELECT kind, key, body, sum FROM record WHERE kind = ?1 AND key = ?2";
        Ok(self
            .query_one_row(sql, params![kind, key], read_record)?
            .map(|(_, body)| body))
    }

    fn records_by_prefix(
        &self,
        kind: &str,
        prefix: &str,
    ) -> Result<Vec<(String, Json)>, StoreFault> {
        // `key >=` uses the index; the comparison of the prefix ends the match. LIKE would treat
        // `_` and `%` in keys as wildcards.
        let sql = "SELECT kind, key, body, sum FROM record \
                   WHERE kind = ?1 AND key >= ?2 AND substr(key, 1, length(?2)) = ?2 ORDER BY key";
        self.query_rows(sql, params![kind, prefix], read_record)
    }

    fn search_records(
        &self,
        kinds: &[&str],
        query: &SearchQuery,
        matching: MatchMode,
        most: usize,
    ) -> Result<Vec<RecordKey>, StoreFault> {
        self.sql.search_records(self, kinds, query, matching, most)
    }

    fn working_copy_secret(&self) -> String {
        self.sql.working_copy()
    }

    fn load_note(&self, key: &str) -> Result<Option<String>, StoreFault> {
        self.query_one_row(
            "SELECT body FROM note WHERE key = ?1",
            params![self.sql.note_key(key)],
            |row| row.get(0),
        )
    }

    fn store_time(&self) -> Result<Option<Timestamp>, StoreFault> {
        self.sql.shared_time()
    }
}

fn read_record(row: &Row<'_>) -> Result<(String, Json), BadRow> {
    let (kind, key, body): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
    if record_checksum(&kind, &key, &body) != row.get::<i64>(3)? {
        return Err(BadRow::new(format!(
            "checksum mismatch in the record {kind}/{key}"
        )));
    }
    Ok((key, serde_json::from_str(&body)?))
}

fn read_stamp(row: &Row<'_>) -> Result<(NodeId, FileStamp, VersionHash), BadRow> {
    let stamp = FileStamp {
        size: row.get::<i64>(1)?.cast_unsigned(),
        modified_ns: row.get(2)?,
        changed_ns: row.get(3)?,
        inode: row.get::<i64>(4)?.cast_unsigned(),
    };
    Ok((
        NodeId(row.get(0)?),
        stamp,
        VersionHash(decode_digest_column(row.get_ref(5)?)?),
    ))
}
