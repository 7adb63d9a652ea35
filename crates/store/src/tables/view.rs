//! The tables as seen by one transaction, and how they are queried.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use domain::ids::{NodeId, StoreId};
use domain::node::Node;
use domain::ports::{ChildName, Snapshot, StoreFault};
use domain::time::Timestamp;
use zstd::bulk::Decompressor;

use super::rows::{BadRow, CauseRow};
use super::sql::{Row, SqlConnection, SqlParams};
use super::store_row::StoreRow;

/// The tables as seen by one read or write transaction.
pub(crate) struct TableView<'c> {
    pub(crate) sql: &'c dyn SqlConnection,
    pub(crate) store: StoreRow,
    /// Cache of causes: the nodes of a subtree mostly share one.
    pub(super) causes: RefCell<HashMap<i64, Rc<CauseRow>>>,
    /// Cache of nodes, for read transactions only: a use case reads the same few again and again.
    pub(super) known: Option<RefCell<ReadCache>>,
    /// Decompression context, made with the first text: making it takes longer than unpacking a
    /// plan.
    pub(super) unpacker: RefCell<Option<Decompressor<'static>>>,
    _transaction: Option<ReadTransaction<'c>>,
}

/// Ends a read transaction when it is dropped.
struct ReadTransaction<'c>(&'c dyn SqlConnection);

impl Drop for ReadTransaction<'_> {
    fn drop(&mut self) {
        self.0.roll_back();
    }
}

/// Cache of a read transaction.
#[derive(Default)]
pub(super) struct ReadCache {
    pub(super) nodes: Vec<Node>,
    /// The child names of the last requested parent.
    pub(super) children: Option<(NodeId, Vec<ChildName>)>,
}

/// Maximum number of cached nodes; more than a use case about one node reads.
const MAX_CACHED_NODES: usize = 32;

impl<'c> TableView<'c> {
    pub(crate) fn new(sql: &'c dyn SqlConnection, store: StoreRow) -> Self {
        Self {
            sql,
            store,
            causes: RefCell::new(HashMap::new()),
            known: None,
            unpacker: RefCell::new(None),
            _transaction: None,
        }
    }

    /// As [`Self::new`] for a read transaction, which ends when the view is dropped. Its rows
    /// cannot change, so nodes are cached.
    pub(crate) fn for_reading(sql: &'c dyn SqlConnection, store: StoreRow) -> Self {
        Self {
            known: Some(RefCell::default()),
            _transaction: Some(ReadTransaction(sql)),
            ..Self::new(sql, store)
        }
    }
}

impl TableView<'_> {
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

    /// Adds nodes to the cache, up to its limit.
    pub(super) fn cache_nodes(&self, nodes: &[Node]) {
        let Some(known) = &self.known else { return };
        let known = &mut known.borrow_mut().nodes;
        let room = MAX_CACHED_NODES.saturating_sub(known.len());
        known.extend(nodes.iter().take(room).cloned());
    }
}

impl Snapshot for TableView<'_> {
    fn store_id(&self) -> Result<StoreId, StoreFault> {
        Ok(self.store.store.clone())
    }

    fn working_copy_secret(&self) -> String {
        self.sql.working_copy()
    }

    fn store_time(&self) -> Result<Option<Timestamp>, StoreFault> {
        self.sql.shared_time()
    }
}
