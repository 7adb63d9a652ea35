//! SQL interface the tables need from an engine: statements, parameters, rows.
//!
//! Values have SQLite's five types. Statements use the common subset of both dialects, with `?1`
//! for parameters; each remaining difference has a method of its own.

use domain::ids::NodeId;
use domain::ports::StoreFault;
use domain::record::RecordKey;
use domain::search::{MatchMode, SearchQuery};
use domain::time::Timestamp;
use rusqlite::types::{FromSql, ValueRef};
use serde_json::Value as Json;

use super::rows::BadRow;
use super::view::TableView;

pub(crate) use rusqlite::params;

/// The parameters of a statement, in order.
pub(crate) type SqlParams<'v> = &'v [&'v dyn rusqlite::ToSql];

/// One row of a query result.
pub(crate) enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r crate::postgres::PostgresRow<'r>),
}

impl Row<'_> {
    /// Returns a column's value without copying it.
    #[inline]
    pub(crate) fn get_ref(&self, index: usize) -> Result<ValueRef<'_>, BadRow> {
        match self {
            // An enum instead of a trait object: this runs for every column of every row.
            Self::Sqlite(row) => Ok(row.get_ref(index)?),
            Self::Postgres(row) => row.get_ref(index),
        }
    }

    /// Returns a column's value, converted.
    pub(crate) fn get<T: FromSql>(&self, index: usize) -> Result<T, BadRow> {
        T::column_result(self.get_ref(index)?)
            .map_err(|error| BadRow::new(format!("column {index}: {error}")))
    }
}

/// Status change of one node: the checksum its row must have, and the new one.
pub(crate) struct StatusChange {
    pub(crate) node: NodeId,
    pub(crate) old_sum: i64,
    pub(crate) new_sum: i64,
}

/// The new status, common to all nodes of a group.
pub(crate) struct NewStatus {
    pub(crate) status: i64,
    pub(crate) cause: Option<i64>,
    pub(crate) since: Option<i64>,
}

/// A connection with an open transaction.
pub(crate) trait SqlConnection {
    /// Runs a query and calls `each` for every row.
    fn query_rows(
        &self,
        sql: &str,
        values: SqlParams<'_>,
        each: &mut dyn FnMut(&Row<'_>) -> Result<(), BadRow>,
    ) -> Result<(), StoreFault>;

    /// Runs a statement and returns how many rows it changed.
    fn execute_statement(&self, sql: &str, values: SqlParams<'_>) -> Result<usize, StoreFault>;

    /// Discards the open transaction.
    fn roll_back(&self);

    /// Sets the status of the nodes whose checksum is the old one; returns how many matched.
    fn update_standings(
        &self,
        changes: &[StatusChange],
        new: &NewStatus,
    ) -> Result<usize, StoreFault>;

    /// Returns the key a note is stored under. In a shared database most notes belong to one
    /// working copy and get its id as prefix.
    fn note_key(&self, key: &str) -> String;

    /// Returns the id of the working copy; empty if the state is not shared.
    fn working_copy(&self) -> String;

    /// Returns the time of the shared clock; `None` if this machine's clock counts.
    fn shared_time(&self) -> Result<Option<Timestamp>, StoreFault> {
        Ok(None)
    }

    /// Updates the search index for a record; `after` is `None` if it was deleted.
    fn index_record(&self, record: &RecordKey, after: Option<&Json>) -> Result<(), StoreFault>;

    /// Returns the best matches; see `RecordReader::search_records`.
    fn search_records(
        &self,
        view: &TableView<'_>,
        kinds: &[&str],
        query: &SearchQuery,
        matching: MatchMode,
        most: usize,
    ) -> Result<Vec<RecordKey>, StoreFault>;
}
