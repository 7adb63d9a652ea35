//! Connection to the shared database: prepared statements, transactions, reconnecting.
//!
//! A lost connection is replaced only at the start of a transaction; within one, the error goes to
//! the caller, because what the transaction did is rolled back.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use domain::ports::{SHARED_NOTE_PREFIXES, StoreFault};
use domain::record::RecordKey;
use domain::search::{MatchMode, SearchQuery};
use domain::time::Timestamp;
use postgres::error::SqlState;
use postgres::types::ToSql;
use postgres::{Client, Statement};
use serde_json::Value as Json;
use tokio::runtime::RuntimeFlavor;

use super::address::DatabaseAddress;
use super::values::{BoundValue, PostgresRow};
use crate::tables::rows::BadRow;
use crate::tables::sql::{NewStatus, Row, SqlConnection, SqlParams, StatusChange, params};
use crate::tables::view::TableView;

/// Idle time after which the server ends a write transaction: a laptop that went to sleep must not
/// block a team. Its transaction is rolled back, so it can commit nothing afterwards.
const IDLE_WRITER_TIMEOUT: Duration = Duration::from_secs(20);

/// Lower bound of the connect timeout: connecting to another machine occasionally takes this long,
/// however short the caller's lock timeout is.
const MIN_CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// Number of statements before cached plans are first discarded; fewer cannot have filled an empty
/// table.
const FIRST_REPLAN_AFTER: u64 = 512;

/// Role that row-level security applies to; used by superusers, to whom it would not.
pub(super) const ROWS_ROLE: &str = "throughline_rows";

/// A connection that reconnects at the next transaction after it was lost.
pub(super) struct PostgresConnection {
    address: DatabaseAddress,
    open: RefCell<Option<OpenClient>>,
    patience: Duration,
    /// Statements every transaction begins with; empty before a project is selected.
    beginning: RefCell<String>,
    /// Id of this working copy.
    place: String,
    /// Unique id of the last write transaction.
    writer: RefCell<String>,
}

struct OpenClient {
    client: Client,
    /// Prepared statements, by their SQL.
    statements: HashMap<String, Statement>,
    /// Number of statements run, and the number at which cached plans are discarded next.
    run: u64,
    decided_until: u64,
}

impl OpenClient {
    fn new(client: Client) -> Self {
        Self {
            client,
            statements: HashMap::new(),
            run: 0,
            decided_until: FIRST_REPLAN_AFTER,
        }
    }

    /// Discards cached query plans, at exponentially growing intervals.
    ///
    /// The server plans by table size and caches the plan: a transaction that fills empty tables
    /// would keep scanning the whole project for one node, as if it still had a few rows.
    fn discard_stale_plans(&mut self) -> Result<(), postgres::Error> {
        self.run += 1;
        if self.run < self.decided_until {
            return Ok(());
        }
        self.decided_until *= 4;
        self.client.batch_execute("DISCARD PLANS")
    }
}

/// Access mode of a transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TransactionMode {
    Reading,
    Writing,
}

impl PostgresConnection {
    /// Connects to the database; `patience` limits waiting for locks.
    pub(super) fn connect(
        address: DatabaseAddress,
        patience: Duration,
        place: String,
    ) -> Result<Self, StoreFault> {
        let client =
            run_outside_runtime(|| address.connect_within(patience.max(MIN_CONNECT_TIMEOUT)))?;
        let open = RefCell::new(Some(OpenClient::new(client)));
        Ok(Self {
            address,
            open,
            patience,
            beginning: RefCell::default(),
            place,
            writer: RefCell::default(),
        })
    }

    /// Selects the project whose rows are visible; `as_role` for a user exempt from row-level
    /// security.
    pub(super) fn select_project(&self, project: i64, as_role: bool) {
        let role = if as_role {
            format!("SET LOCAL ROLE {ROWS_ROLE}; ")
        } else {
            String::new()
        };
        // SET takes no parameters, so the value is quoted here. LOCAL, so that role and project end
        // with the transaction: migrations on the same connection need the login's own rights.
        let place = self.place.replace('\'', "''");
        *self.beginning.borrow_mut() = format!(
            "{role}SET LOCAL search_path = throughline; SET LOCAL throughline.project = '{project}'; \
             SET LOCAL throughline.place = '{place}'; "
        );
    }

    /// Returns the statements a transaction begins with.
    pub(super) fn transaction_prologue(&self) -> String {
        self.beginning.borrow().clone()
    }

    /// Returns the database's address without password.
    pub(super) fn display_address(&self) -> &str {
        &self.address.shown
    }

    /// Calls `act` with the client; fails if the connection was lost.
    pub(super) fn with_client<T: Send>(
        &self,
        act: impl FnOnce(&mut Client) -> Result<T, postgres::Error> + Send,
    ) -> Result<T, StoreFault> {
        let mut open = self.open.borrow_mut();
        let Some(open) = open.as_mut() else {
            return Err(self.connection_lost());
        };
        run_outside_runtime(|| act(&mut open.client)).map_err(|error| self.to_fault(&error))
    }

    fn connection_lost(&self) -> StoreFault {
        StoreFault::Unreachable {
            at: self.address.shown.clone(),
            why: "the connection was lost".to_owned(),
        }
    }

    /// Runs one or more statements without parameters, in one round trip.
    pub(super) fn run_sql_batch(&self, sql: &str) -> Result<(), StoreFault> {
        self.with_client(|client| client.batch_execute(sql))
    }

    /// Begins a transaction; reconnects if the connection was lost since the last one.
    pub(super) fn begin_transaction(&self, purpose: TransactionMode) -> Result<(), StoreFault> {
        let how = match purpose {
            // One snapshot for all statements of a reader, as SQLite's read transactions have.
            TransactionMode::Reading => {
                "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ".to_owned()
            }
            // READ COMMITTED suffices for writers: they hold the row lock of the store, and after
            // waiting for it they have to see what the previous writer committed.
            TransactionMode::Writing => {
                let writer = uuid::Uuid::new_v4().to_string();
                let sql = format!(
                    "BEGIN; SET LOCAL lock_timeout = {}; SET LOCAL idle_in_transaction_session_timeout = {}; \
                     SET LOCAL throughline.writer = '{writer}'; ",
                    self.patience.as_millis().max(1),
                    IDLE_WRITER_TIMEOUT.as_millis()
                );
                *self.writer.borrow_mut() = writer;
                sql
            }
        };
        let sql = format!("{how}{}", self.beginning.borrow());
        let begun = Instant::now();
        loop {
            match self.run_sql_batch(&sql) {
                // A connection that idled for long is often dead by now: reconnect and try again.
                Err(StoreFault::Unreachable { .. }) if begun.elapsed() < self.patience => {}
                Err(StoreFault::Unreachable { at, why }) => {
                    return Err(StoreFault::Unreachable { at, why });
                }
                // BEGIN may have succeeded and a SET after it failed.
                Err(other) => {
                    self.roll_back();
                    return Err(other);
                }
                Ok(()) => return Ok(()),
            }
            *self.open.borrow_mut() = None;
            let address = &self.address;
            let within = self.patience.max(MIN_CONNECT_TIMEOUT);
            match run_outside_runtime(|| address.connect_within(within)) {
                Ok(client) => *self.open.borrow_mut() = Some(OpenClient::new(client)),
                // The server may be restarting.
                Err(fault) if begun.elapsed() >= self.patience => return Err(fault),
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Returns the unique id of the last write transaction.
    pub(super) fn writer_id(&self) -> String {
        self.writer.borrow().clone()
    }

    /// Calls `act` with the prepared form of `sql`.
    fn with_prepared_statement<T: Send>(
        &self,
        sql: &str,
        act: impl FnOnce(&mut Client, &Statement) -> Result<T, postgres::Error> + Send,
    ) -> Result<T, StoreFault> {
        let mut open = self.open.borrow_mut();
        let Some(open) = open.as_mut() else {
            return Err(self.connection_lost());
        };
        run_outside_runtime(|| {
            open.discard_stale_plans()?;
            let OpenClient {
                client, statements, ..
            } = open;
            // Keyed by the original text, so that a cache hit does not translate the statement
            // again.
            if !statements.contains_key(sql) {
                let statement = client.prepare(&to_postgres_dialect(sql))?;
                statements.insert(sql.to_owned(), statement);
            }
            act(client, &statements[sql])
        })
        .map_err(|error| self.to_fault(&error))
    }

    /// Maps a database error to a fault with a known remedy.
    fn to_fault(&self, error: &postgres::Error) -> StoreFault {
        // No error from the server means that the connection itself failed.
        let Some(told) = error.as_db_error() else {
            return self.address.unreachable_fault(error);
        };
        let what = || StoreFault::Damaged {
            what: told.message().to_owned(),
        };
        match *told.code() {
            // All of these mean that another writer was in the way, and that a retry may succeed.
            SqlState::LOCK_NOT_AVAILABLE
            | SqlState::T_R_SERIALIZATION_FAILURE
            | SqlState::T_R_DEADLOCK_DETECTED
            | SqlState::QUERY_CANCELED => StoreFault::Locked { holder: None },
            // A database without our schema is not damaged, it was never set up.
            SqlState::UNDEFINED_TABLE | SqlState::INVALID_SCHEMA_NAME => StoreFault::Missing,
            SqlState::DISK_FULL => StoreFault::Full {
                path: self.address.shown.clone().into(),
            },
            SqlState::READ_ONLY_SQL_TRANSACTION => StoreFault::ReadOnly {
                path: self.address.shown.clone().into(),
            },
            SqlState::UNIQUE_VIOLATION
            | SqlState::NOT_NULL_VIOLATION
            | SqlState::UNDEFINED_COLUMN => what(),
            // 57P: server shutdown; 08: connection exception; 28: authentication.
            _ if told.code().code().starts_with("57P")
                || told.code().code().starts_with("08")
                || told.code().code().starts_with("28")
                || *told.code() == SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT =>
            {
                self.address.unreachable_fault(error)
            }
            _ => StoreFault::Io {
                action: format!(
                    "the database {} refused: {}",
                    self.address.shown,
                    told.message()
                ),
                source: told.code().code().to_owned().into(),
            },
        }
    }

    /// Waits for a notification on a channel, for at most `most`.
    pub(super) fn await_notification(
        &self,
        channel: &str,
        most: Duration,
    ) -> Result<(), StoreFault> {
        self.with_client(|client| {
            use postgres::fallible_iterator::FallibleIterator;
            let mut told = client.notifications();
            let mut told = told.timeout_iter(most);
            // Notifications of other channels must not end the wait.
            while let Some(one) = told.next()? {
                if one.channel() == channel {
                    break;
                }
            }
            Ok(())
        })
    }
}

/// Runs `act` where the client may block on its own tokio runtime, which panics on a thread that
/// drives another one, as a server's do.
fn run_outside_runtime<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    match tokio::runtime::Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Err(_) => return act(),
        // The cheap way: the runtime moves this worker's other tasks to another thread. It panics
        // on a current-thread runtime, which needs a thread of its own below.
        Ok(RuntimeFlavor::MultiThread) => return tokio::task::block_in_place(act),
        Ok(_) => {}
    }
    let done = std::thread::scope(|scope| scope.spawn(act).join());
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Translates a statement from SQLite's dialect to PostgreSQL's.
fn to_postgres_dialect(sql: &str) -> String {
    // `CROSS JOIN` fixes the join order in SQLite; PostgreSQL's planner finds it by statistics, and
    // there the keyword takes no ON clause.
    sql.replace('?', "$").replace("CROSS JOIN", "JOIN")
}

impl Drop for PostgresConnection {
    fn drop(&mut self) {
        // Closing the client sends a message, which blocks on its runtime too.
        let open = self.open.take();
        run_outside_runtime(|| drop(open));
    }
}

impl SqlConnection for PostgresConnection {
    fn query_rows(
        &self,
        sql: &str,
        values: SqlParams<'_>,
        each: &mut dyn FnMut(&Row<'_>) -> Result<(), BadRow>,
    ) -> Result<(), StoreFault> {
        let given: Vec<BoundValue<'_>> = values
            .iter()
            .map(|value| BoundValue::from_sql_value(*value))
            .collect();
        let given: Vec<&(dyn ToSql + Sync)> = given.iter().map(|value| value as _).collect();
        // Collected first, because `each` may run other statements on the same connection.
        let rows =
            self.with_prepared_statement(sql, |client, statement| client.query(statement, &given))?;
        for row in &rows {
            each(&Row::Postgres(&PostgresRow::decode_row(row)?))?;
        }
        Ok(())
    }

    fn roll_back(&self) {
        // On a lost connection the server has rolled back already.
        let _ = self.run_sql_batch("ROLLBACK");
    }

    fn execute_statement(&self, sql: &str, values: SqlParams<'_>) -> Result<usize, StoreFault> {
        let given: Vec<BoundValue<'_>> = values
            .iter()
            .map(|value| BoundValue::from_sql_value(*value))
            .collect();
        let given: Vec<&(dyn ToSql + Sync)> = given.iter().map(|value| value as _).collect();
        let changed = self
            .with_prepared_statement(sql, |client, statement| client.execute(statement, &given))?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    fn update_standings(
        &self,
        changes: &[StatusChange],
        new: &NewStatus,
    ) -> Result<usize, StoreFault> {
        let sql = "UPDATE standing SET status = $1, cause = $2, since = $3, standing_sum = c.new_sum \
                   FROM unnest($4::BIGINT[], $5::BIGINT[], $6::BIGINT[]) AS c (node, old_sum, new_sum) \
                   WHERE standing.node = c.node AND standing_sum = c.old_sum";
        // Arrays, because a cascade over thousands of nodes has to be one round trip.
        let nodes: Vec<i64> = changes.iter().map(|change| change.node.0.into()).collect();
        let old: Vec<i64> = changes.iter().map(|change| change.old_sum).collect();
        let sums: Vec<i64> = changes.iter().map(|change| change.new_sum).collect();
        let changed = self.with_prepared_statement(sql, |client, statement| {
            client.execute(
                statement,
                &[&new.status, &new.cause, &new.since, &nodes, &old, &sums],
            )
        })?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    fn note_key(&self, key: &str) -> String {
        match SHARED_NOTE_PREFIXES
            .iter()
            .any(|prefix| key.starts_with(prefix))
        {
            true => key.to_owned(),
            false => format!("{}/{key}", self.place),
        }
    }

    fn working_copy(&self) -> String {
        self.place.clone()
    }

    fn shared_time(&self) -> Result<Option<Timestamp>, StoreFault> {
        let mut time = None;
        // Not `now()`, which stands still within a transaction.
        let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::BIGINT";
        self.query_rows(sql, params![], &mut |row| {
            time = Some(Timestamp::from_millis(row.get(0)?));
            Ok(())
        })?;
        Ok(time)
    }

    fn index_record(&self, record: &RecordKey, after: Option<&Json>) -> Result<(), StoreFault> {
        super::search::index_record(self, record, after)
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
