//! SQLite's implementation of the shared SQL interface ([`SqlConnection`]).

use std::cell::{Cell, OnceCell};
use std::path::{Path, PathBuf};
use std::time::Instant;

use domain::ports::StoreFault;
use domain::record::RecordKey;
use domain::search::{MatchMode, SearchQuery};
use domain::time::Timestamp;
use rusqlite::{Connection, params};
use serde_json::Value as Json;

use super::connection::{run_cached_statement, to_fault};
use crate::tables::rows::BadRow;
use crate::tables::sql::{NewStatus, Row, SqlConnection, SqlParams, StatusChange};
use crate::tables::view::TableView;

/// An open database, with its path for messages.
pub(super) struct SqliteConnection {
    pub(super) inner: Connection,
    pub(super) path: PathBuf,
    /// A reading of the shared clock and the moment it was taken; `None` without a shared clock.
    pub(super) clock: Cell<Option<(Timestamp, Instant)>>,
    /// Id of this working copy, if the state is a replica of a shared one.
    pub(super) working_copy: OnceCell<String>,
}

impl SqliteConnection {
    pub(super) fn new(inner: Connection, path: &Path) -> Self {
        Self {
            inner,
            path: path.to_owned(),
            clock: Cell::new(None),
            working_copy: OnceCell::new(),
        }
    }

    pub(super) fn to_fault(&self, error: rusqlite::Error) -> StoreFault {
        to_fault(&self.path, error)
    }
}

impl SqlConnection for SqliteConnection {
    fn query_rows(
        &self,
        sql: &str,
        values: SqlParams<'_>,
        each: &mut dyn FnMut(&Row<'_>) -> Result<(), BadRow>,
    ) -> Result<(), StoreFault> {
        let mut statement = self
            .inner
            .prepare_cached(sql)
            .map_err(|error| self.to_fault(error))?;
        let mut rows = statement
            .query(values)
            .map_err(|error| self.to_fault(error))?;
        while let Some(row) = rows.next().map_err(|error| self.to_fault(error))? {
            each(&Row::Sqlite(row))?;
        }
        Ok(())
    }

    fn execute_statement(&self, sql: &str, values: SqlParams<'_>) -> Result<usize, StoreFault> {
        self.inner
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(values))
            .map_err(|error| self.to_fault(error))
    }

    fn roll_back(&self) {
        // A failed rollback does no harm: closing the connection rolls back.
        let _ = run_cached_statement(&self.inner, "ROLLBACK");
    }

    fn update_standings(
        &self,
        changes: &[StatusChange],
        new: &NewStatus,
    ) -> Result<usize, StoreFault> {
        let sql = "UPDATE standing SET status = ?3, cause = ?4, since = ?5, standing_sum = ?6 \
                   WHERE node = ?1 AND standing_sum = ?2";
        // One prepared statement in a loop: SQLite has no arrays to bind, and without a round trip
        // per statement nothing is gained by one large statement.
        let mut statement = self
            .inner
            .prepare_cached(sql)
            .map_err(|error| self.to_fault(error))?;
        let mut changed = 0;
        for StatusChange {
            node,
            old_sum,
            new_sum,
        } in changes
        {
            changed += statement
                .execute(params![
                    node.0, old_sum, new.status, new.cause, new.since, new_sum
                ])
                .map_err(|error| self.to_fault(error))?;
        }
        Ok(changed)
    }

    fn working_copy(&self) -> String {
        self.working_copy.get().cloned().unwrap_or_default()
    }

    fn note_key(&self, key: &str) -> String {
        key.to_owned()
    }

    fn shared_time(&self) -> Result<Option<Timestamp>, StoreFault> {
        // The shared clock is extrapolated with the monotonic clock: the wall clock may be set.
        let since = |then: Instant| i64::try_from(then.elapsed().as_millis()).unwrap_or(i64::MAX);
        let now = self
            .clock
            .get()
            .map(|(shown, then)| shown.as_millis().saturating_add(since(then)));
        Ok(now.map(Timestamp::from_millis))
    }

    fn index_record(&self, record: &RecordKey, after: Option<&Json>) -> Result<(), StoreFault> {
        super::search::index_record(&self.inner, record, after)
            .map_err(|error| self.to_fault(error))
    }

    fn search_records(
        &self,
        view: &TableView<'_>,
        kinds: &[&str],
        query: &SearchQuery,
        matching: MatchMode,
        most: usize,
    ) -> Result<Vec<RecordKey>, StoreFault> {
        super::search::search_records(view, kinds, query, matching, most)
    }
}
