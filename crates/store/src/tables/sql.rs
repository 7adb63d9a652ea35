//! What the tables ask of a database, whichever it is: the same statements, values and rows.
//!
//! Values are SQLite's five kinds. Statements are written in the words both databases know, with `?1` for a value; what is
//! left that differs has a method of its own here.

use domain::ids::NodeId;
use domain::ports::StoreFault;
use domain::record::RecordKey;
use domain::search::{Matching, Query};
use domain::time::Timestamp;
use rusqlite::types::{FromSql, ValueRef};
use serde_json::Value as Json;

use super::rows::BadRow;
use super::view::View;

pub(crate) use rusqlite::params;

/// The values of a statement, in order.
pub(crate) type Values<'v> = &'v [&'v dyn rusqlite::ToSql];

/// One row of an answer.
pub(crate) enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r crate::postgres::PostgresRow<'r>),
}

impl Row<'_> {
    /// Returns a column without copying it.
    #[inline]
    pub(crate) fn get_ref(&self, index: usize) -> Result<ValueRef<'_>, BadRow> {
        match self {
            Self::Sqlite(row) => Ok(row.get_ref(index)?),
            Self::Postgres(row) => row.get_ref(index),
        }
    }

    /// Returns a column.
    pub(crate) fn get<T: FromSql>(&self, index: usize) -> Result<T, BadRow> {
        T::column_result(self.get_ref(index)?)
            .map_err(|error| BadRow::new(format!("column {index}: {error}")))
    }
}

/// The status of one node that changes: the sum it must have, and the one it gets.
pub(crate) struct StandingChange {
    pub(crate) node: NodeId,
    pub(crate) old_sum: i64,
    pub(crate) new_sum: i64,
}

/// What a status becomes, for many nodes at once.
pub(crate) struct NewStanding {
    pub(crate) status: i64,
    pub(crate) cause: Option<i64>,
    pub(crate) since: Option<i64>,
}

/// A database in a transaction.
pub(crate) trait Sql {
    /// Runs a query and hands over every row.
    fn rows(
        &self,
        sql: &str,
        values: Values<'_>,
        each: &mut dyn FnMut(&Row<'_>) -> Result<(), BadRow>,
    ) -> Result<(), StoreFault>;

    /// Runs a statement and returns how many rows it changed.
    fn execute(&self, sql: &str, values: Values<'_>) -> Result<usize, StoreFault>;

    /// Changes the status of those nodes whose sum is the old one, and returns how many that were.
    fn set_standings(
        &self,
        changes: &[StandingChange],
        new: &NewStanding,
    ) -> Result<usize, StoreFault>;

    /// Returns the key a note is kept under: where several machines share a database, most notes are of one alone.
    fn note_key(&self, key: &str) -> String;

    /// Returns the name of the working copy; empty where the state belongs to one alone.
    fn working_copy(&self) -> String;

    /// Returns the time of the database's own clock, where it is not this machine's.
    fn time(&self) -> Result<Option<Timestamp>, StoreFault> {
        Ok(None)
    }

    /// Brings the index of words up to date with a record; without `after` it is gone.
    fn index_words(&self, record: &RecordKey, after: Option<&Json>) -> Result<(), StoreFault>;

    /// Returns the best matches, as `Snapshot::search` says.
    fn search(
        &self,
        view: &View<'_>,
        kinds: &[&str],
        query: &Query,
        matching: Matching,
        most: usize,
    ) -> Result<Vec<RecordKey>, StoreFault>;
}
