//! A connection to the shared database: statements, transactions, and what is done when it breaks.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use domain::ports::{SHARED_NOTES, StoreFault};
use domain::record::RecordKey;
use domain::search::{Matching, Query};
use domain::time::Timestamp;
use postgres::error::SqlState;
use postgres::types::ToSql;
use postgres::{Client, Statement};
use serde_json::Value as Json;
use tokio::runtime::RuntimeFlavor;

use super::address::Address;
use super::values::{Given, PostgresRow};
use crate::tables::rows::BadRow;
use crate::tables::sql::{NewStanding, Row, Sql, StandingChange, Values, params};
use crate::tables::view::View;

/// A holder of the right to write that falls silent for so long is cut off: a laptop that went to sleep must not hold up a
/// team. What it had begun is rolled back, so it can commit nothing afterwards.
const SILENCE: Duration = Duration::from_secs(20);

/// A connection to another machine takes this long now and then, however little patience there is.
const LEAST: Duration = Duration::from_secs(1);

/// So few statements cannot have made much of an empty table.
const FIRST_DECIDED: u64 = 512;

/// Takes the rights of a role for whom rows are kept apart.
pub(super) const ROWS_ROLE: &str = "throughline_rows";

/// A connection, made again when it breaks.
pub(super) struct Link {
    address: Address,
    open: RefCell<Option<Open>>,
    patience: Duration,
    /// What every transaction begins with; empty before a project is chosen.
    beginning: RefCell<String>,
    /// Which working copy this is.
    place: String,
    /// A name for the transaction that was begun last to write, which no other ever has.
    writer: RefCell<String>,
}

struct Open {
    client: Client,
    /// Statements that were prepared, by their words.
    statements: HashMap<String, Statement>,
    /// How many were run, and after how many of them how to run them is decided anew.
    run: u64,
    decided_until: u64,
}

impl Open {
    fn new(client: Client) -> Self {
        Self {
            client,
            statements: HashMap::new(),
            run: 0,
            decided_until: FIRST_DECIDED,
        }
    }

    /// Lets the database decide anew how statements are run, ever more seldom.
    ///
    /// It decides by the size of the tables, and keeps to that: in a transaction that fills empty ones it would go through all
    /// of a project for one node, as if there were still but a few.
    fn decide_anew(&mut self) -> Result<(), postgres::Error> {
        self.run += 1;
        if self.run < self.decided_until {
            return Ok(());
        }
        self.decided_until *= 4;
        self.client.batch_execute("DISCARD PLANS")
    }
}

/// What a transaction is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Reading,
    Writing,
}

impl Link {
    /// Connects.
    pub(super) fn connect(
        address: Address,
        patience: Duration,
        place: String,
    ) -> Result<Self, StoreFault> {
        let client = outside_runtimes(|| address.connect(patience.max(LEAST)))?;
        let open = RefCell::new(Some(Open::new(client)));
        Ok(Self {
            address,
            open,
            patience,
            beginning: RefCell::default(),
            place,
            writer: RefCell::default(),
        })
    }

    /// Chooses whose rows are seen; `as_role` for a user who would see everyone's.
    pub(super) fn choose(&self, project: i64, as_role: bool) {
        let role = if as_role {
            format!("SET LOCAL ROLE {ROWS_ROLE}; ")
        } else {
            String::new()
        };
        let place = self.place.replace('\'', "''");
        *self.beginning.borrow_mut() = format!(
            "{role}SET LOCAL search_path = throughline; SET LOCAL throughline.project = '{project}'; \
             SET LOCAL throughline.place = '{place}'; "
        );
    }

    /// Returns what a transaction begins with.
    pub(super) fn beginning(&self) -> String {
        self.beginning.borrow().clone()
    }

    /// Returns where the database is, for people.
    pub(super) fn shown(&self) -> &str {
        &self.address.shown
    }

    /// Does something with the connection.
    pub(super) fn with<T: Send>(
        &self,
        act: impl FnOnce(&mut Client) -> Result<T, postgres::Error> + Send,
    ) -> Result<T, StoreFault> {
        let mut open = self.open.borrow_mut();
        let Some(open) = open.as_mut() else {
            return Err(self.broken());
        };
        outside_runtimes(|| act(&mut open.client)).map_err(|error| self.fault(&error))
    }

    fn broken(&self) -> StoreFault {
        StoreFault::Unreachable {
            at: self.address.shown.clone(),
            why: "the connection broke".to_owned(),
        }
    }

    /// Runs statements without values.
    pub(super) fn run(&self, sql: &str) -> Result<(), StoreFault> {
        self.with(|client| client.batch_execute(sql))
    }

    /// Begins a transaction; a connection that broke since the last one is made again.
    pub(super) fn begin(&self, purpose: Purpose) -> Result<(), StoreFault> {
        let how = match purpose {
            Purpose::Reading => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ".to_owned(),
            Purpose::Writing => {
                let writer = uuid::Uuid::new_v4().to_string();
                let sql = format!(
                    "BEGIN; SET LOCAL lock_timeout = {}; SET LOCAL idle_in_transaction_session_timeout = {}; \
                     SET LOCAL throughline.writer = '{writer}'; ",
                    self.patience.as_millis().max(1),
                    SILENCE.as_millis()
                );
                *self.writer.borrow_mut() = writer;
                sql
            }
        };
        let sql = format!("{how}{}", self.beginning.borrow());
        let begun = Instant::now();
        loop {
            match self.run(&sql) {
                Err(StoreFault::Unreachable { .. }) if begun.elapsed() < self.patience => {}
                Err(StoreFault::Unreachable { at, why }) => {
                    return Err(StoreFault::Unreachable { at, why });
                }
                // Whatever was half begun is over.
                Err(other) => {
                    self.roll_back();
                    return Err(other);
                }
                Ok(()) => return Ok(()),
            }
            *self.open.borrow_mut() = None;
            let address = &self.address;
            let within = self.patience.max(LEAST);
            match outside_runtimes(|| address.connect(within)) {
                Ok(client) => *self.open.borrow_mut() = Some(Open::new(client)),
                // It may be about to come back.
                Err(fault) if begun.elapsed() >= self.patience => return Err(fault),
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Returns the name of the transaction that was begun last to write.
    pub(super) fn writer(&self) -> String {
        self.writer.borrow().clone()
    }

    pub(super) fn roll_back(&self) {
        // A connection that broke has rolled back already.
        let _ = self.run("ROLLBACK");
    }

    fn prepared<T: Send>(
        &self,
        sql: &str,
        act: impl FnOnce(&mut Client, &Statement) -> Result<T, postgres::Error> + Send,
    ) -> Result<T, StoreFault> {
        let mut open = self.open.borrow_mut();
        let Some(open) = open.as_mut() else {
            return Err(self.broken());
        };
        outside_runtimes(|| {
            open.decide_anew()?;
            let Open {
                client, statements, ..
            } = open;
            if !statements.contains_key(sql) {
                let statement = client.prepare(&in_our_words(sql))?;
                statements.insert(sql.to_owned(), statement);
            }
            act(client, &statements[sql])
        })
        .map_err(|error| self.fault(&error))
    }

    /// Turns the database's error into the fault people can act on.
    fn fault(&self, error: &postgres::Error) -> StoreFault {
        let Some(told) = error.as_db_error() else {
            return self.address.unreachable(error);
        };
        let what = || StoreFault::Damaged {
            what: told.message().to_owned(),
        };
        match *told.code() {
            SqlState::LOCK_NOT_AVAILABLE
            | SqlState::T_R_SERIALIZATION_FAILURE
            | SqlState::T_R_DEADLOCK_DETECTED
            | SqlState::QUERY_CANCELED => StoreFault::Locked { holder: None },
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
            _ if told.code().code().starts_with("57P")
                || told.code().code().starts_with("08")
                || told.code().code().starts_with("28")
                || *told.code() == SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT =>
            {
                self.address.unreachable(error)
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

    /// Waits until something is told on a channel, `most` at the longest.
    pub(super) fn await_told(&self, channel: &str, most: Duration) -> Result<(), StoreFault> {
        self.with(|client| {
            use postgres::fallible_iterator::FallibleIterator;
            let mut told = client.notifications();
            let mut told = told.timeout_iter(most);
            while let Some(one) = told.next()? {
                if one.channel() == channel {
                    break;
                }
            }
            Ok(())
        })
    }
}

/// Does something where the client's own runtime may run: not on a thread that drives another one, as a server's does.
fn outside_runtimes<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    match tokio::runtime::Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Err(_) => return act(),
        // A server of many threads: this one may wait, another takes over what else it had to do.
        Ok(RuntimeFlavor::MultiThread) => return tokio::task::block_in_place(act),
        Ok(_) => {}
    }
    let done = std::thread::scope(|scope| scope.spawn(act).join());
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Returns a statement in PostgreSQL's words.
fn in_our_words(sql: &str) -> String {
    // SQLite's word for a join whose order is fixed; here the planner knows better.
    sql.replace('?', "$").replace("CROSS JOIN", "JOIN")
}

impl Drop for Link {
    fn drop(&mut self) {
        // A client says goodbye, and that too needs its runtime.
        let open = self.open.take();
        outside_runtimes(|| drop(open));
    }
}

impl Sql for Link {
    fn rows(
        &self,
        sql: &str,
        values: Values<'_>,
        each: &mut dyn FnMut(&Row<'_>) -> Result<(), BadRow>,
    ) -> Result<(), StoreFault> {
        let given: Vec<Given<'_>> = values.iter().map(|value| Given::of(*value)).collect();
        let given: Vec<&(dyn ToSql + Sync)> = given.iter().map(|value| value as _).collect();
        // All rows first: while they are read, others may be asked for.
        let rows = self.prepared(sql, |client, statement| client.query(statement, &given))?;
        for row in &rows {
            each(&Row::Postgres(&PostgresRow::of(row)?))?;
        }
        Ok(())
    }

    fn execute(&self, sql: &str, values: Values<'_>) -> Result<usize, StoreFault> {
        let given: Vec<Given<'_>> = values.iter().map(|value| Given::of(*value)).collect();
        let given: Vec<&(dyn ToSql + Sync)> = given.iter().map(|value| value as _).collect();
        let changed = self.prepared(sql, |client, statement| client.execute(statement, &given))?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    fn set_standings(
        &self,
        changes: &[StandingChange],
        new: &NewStanding,
    ) -> Result<usize, StoreFault> {
        let sql = "UPDATE standing SET status = $1, cause = $2, since = $3, standing_sum = c.new_sum \
                   FROM unnest($4::BIGINT[], $5::BIGINT[], $6::BIGINT[]) AS c (node, old_sum, new_sum) \
                   WHERE standing.node = c.node AND standing_sum = c.old_sum";
        let nodes: Vec<i64> = changes.iter().map(|change| change.node.0.into()).collect();
        let old: Vec<i64> = changes.iter().map(|change| change.old_sum).collect();
        let sums: Vec<i64> = changes.iter().map(|change| change.new_sum).collect();
        let changed = self.prepared(sql, |client, statement| {
            client.execute(
                statement,
                &[&new.status, &new.cause, &new.since, &nodes, &old, &sums],
            )
        })?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    fn note_key(&self, key: &str) -> String {
        match SHARED_NOTES.iter().any(|prefix| key.starts_with(prefix)) {
            true => key.to_owned(),
            false => format!("{}/{key}", self.place),
        }
    }

    fn working_copy(&self) -> String {
        self.place.clone()
    }

    fn time(&self) -> Result<Option<Timestamp>, StoreFault> {
        let mut time = None;
        let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::BIGINT";
        self.rows(sql, params![], &mut |row| {
            time = Some(Timestamp::from_millis(row.get(0)?));
            Ok(())
        })?;
        Ok(time)
    }

    fn index_words(&self, record: &RecordKey, after: Option<&Json>) -> Result<(), StoreFault> {
        super::search::replace(self, record, after)
    }

    fn search(
        &self,
        view: &View<'_>,
        kinds: &[&str],
        query: &Query,
        matching: Matching,
        most: usize,
    ) -> Result<Vec<RecordKey>, StoreFault> {
        super::search::search(view, kinds, query, matching, most)
    }
}
