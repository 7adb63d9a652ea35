//! PostgreSQL engine: one database shared by several machines.
//!
//! The operation table is the source of truth. There is no journal file: several machines would
//! each have a different one. A writer locks the project's row in `store` (`FOR UPDATE`), so
//! writers are serialised, and updates it only if it is unchanged since it was read. Times that
//! machines must agree on come from the database's clock.

mod address;
mod connection;
mod migrate;
mod search;
mod values;

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use domain::ids::{OperationId, StoreId};
use domain::operation::Operation;
use domain::ports::{
    HistoryState, OperationReader, Snapshot, Store, StoreFault, StoreFinding, StoreFindingKind,
    TokenStore, Transaction,
};
use rusqlite::params;

use self::address::DatabaseAddress;
use self::connection::{PostgresConnection, TransactionMode};
use self::migrate::{CURRENT_FORMAT, PROJECT_ID_FORMAT};
pub(crate) use self::values::PostgresRow;
use crate::engine::{ChainedOperation, EngineSettings, io_fault};
use crate::journal;
use crate::layout::{Layout, SharedProject};
use crate::mirror::Mirror;
use crate::replayed_history::ReplayedHistory;
use crate::store_dump::StoreDump;
use crate::tables::DERIVED_TABLES;
use crate::tables::access::{
    AccessContents, AccessTables, AccessTransactions, insert_access_contents,
};
use crate::tables::sql::SqlConnection;
use crate::tables::store_row::{StoreRow, read_store_row};
use crate::tables::verify::{store_finding, verify_bodies, verify_tables};
use crate::tables::view::TableView;
use crate::tables::write::{TableTransaction, TransactionOwner, as_sql_params};

/// Poll interval while waiting for notifications, which are lost with a connection.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// An open project in a shared database.
pub(crate) struct PostgresStore {
    link: PostgresConnection,
    layout: Layout,
    mirror: Mirror,
    settings: EngineSettings,
    project: i64,
    /// The schema version of the database, as far as this process knows it.
    format: Cell<i64>,
    /// How the history compares with the head this user saw last.
    history: Cell<HistoryState>,
    warnings: RefCell<Vec<String>>,
}

/// A project's row and the state of the database around it.
struct FoundProject {
    project: Option<i64>,
    format: i64,
    sees_all: bool,
}

impl PostgresStore {
    /// Opens a project in the shared database; [`StoreFault::Missing`] if it does not exist.
    pub(crate) fn open(layout: &Layout, settings: &EngineSettings) -> Result<Self, StoreFault> {
        let (shared, link) = connect_shared_database(layout, settings)?;
        let found = find_project(&link, shared)?;
        let project = found.project.ok_or(StoreFault::Missing)?;
        link.select_project(project, found.sees_all);
        let store = Self {
            link,
            mirror: Mirror::new(&layout.mirror),
            layout: layout.clone(),
            settings: settings.clone(),
            project,
            format: Cell::new(found.format),
            history: Cell::default(),
            warnings: RefCell::default(),
        };
        // A newer schema is readable unless its `min_reader` says otherwise: a team upgrades one
        // machine at a time.
        if found.format > CURRENT_FORMAT {
            let newer = store
                .begin_transaction(TransactionMode::Reading)?
                .min_reader
                > CURRENT_FORMAT;
            store.link.roll_back();
            if newer {
                return Err(StoreFault::Newer {
                    found: found.format,
                    known: CURRENT_FORMAT,
                });
            }
        }
        Ok(store)
    }

    /// Creates a project in the shared database, with the schema if needed; `false` if it exists.
    pub(crate) fn create_project(
        layout: &Layout,
        store: &StoreId,
        recorded: &[ChainedOperation],
    ) -> Result<bool, StoreFault> {
        let settings = EngineSettings {
            mirror: false,
            ..EngineSettings::default()
        };
        let (shared, link) = connect_shared_database(layout, &settings)?;
        migrate::apply_migrations(&link)?;
        link.run_sql_batch("BEGIN")?;
        let made = Self::insert_project(&link, shared, store, recorded);
        match made {
            Ok(true) => link.run_sql_batch("COMMIT").map(|()| true),
            other => {
                link.roll_back();
                other
            }
        }
    }

    /// Inserts the project with its operations, in the current transaction; `false` if it exists.
    fn insert_project(
        link: &PostgresConnection,
        shared: &SharedProject,
        store: &StoreId,
        recorded: &[ChainedOperation],
    ) -> Result<bool, StoreFault> {
        let mut id: Option<i64> = None;
        let sql = "INSERT INTO throughline.project (name, uid) VALUES (?1, ?2) ON CONFLICT DO NOTHING RETURNING id";
        link.query_rows(sql, params![shared.project, shared.id], &mut |row| {
            id = Some(row.get(0)?);
            Ok(())
        })?;
        let Some(id) = id else { return Ok(false) };
        let found = find_project(link, shared)?;
        link.select_project(id, found.sees_all);
        // The transaction began before the project was known, so its settings are applied only now.
        link.run_sql_batch(&link.transaction_prologue())?;
        let row = empty_store_row(store);
        link.execute_statement(
            "INSERT INTO store (store_id, min_reader, min_writer, head, head_hash, journal_size, next_node, node_total, \
             sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            &as_sql_params(&row.column_values()),
        )?;
        replay_operations(link, row, recorded)?;
        Ok(true)
    }

    /// Replaces the project's state in one transaction. The present state is sealed and kept under
    /// another name, which is returned. The new one is verified against its source before the
    /// commit.
    pub(crate) fn replace_project_state(
        layout: &Layout,
        cargo: &StoreDump,
        book: &AccessContents,
        when: &str,
    ) -> Result<Option<String>, StoreFault> {
        let settings = EngineSettings {
            mirror: false,
            ..EngineSettings::default()
        };
        let (shared, link) = connect_shared_database(layout, &settings)?;
        // Creates the schema in an empty database; one of a newer program is refused below by
        // `check_writer`.
        migrate::apply_migrations(&link)?;
        let found = find_project(&link, shared)?;
        if let Some(project) = found.project {
            link.select_project(project, found.sees_all);
        }
        link.begin_transaction(TransactionMode::Writing)?;
        let replaced =
            Self::replace_in_transaction(&link, shared, found.project, cargo, book, when)
                .and_then(|aside| link.run_sql_batch("COMMIT").map(|()| aside));
        if replaced.is_err() {
            link.roll_back();
        }
        replaced
    }

    fn replace_in_transaction(
        link: &PostgresConnection,
        shared: &SharedProject,
        present: Option<i64>,
        cargo: &StoreDump,
        book: &AccessContents,
        when: &str,
    ) -> Result<Option<String>, StoreFault> {
        // Replaying a large state keeps this side busy for longer than an idle writer is given.
        link.run_sql_batch("SET LOCAL idle_in_transaction_session_timeout = 0")?;
        let mut aside = None;
        if let Some(project) = present {
            match read_store_row(link, " FOR UPDATE") {
                Ok(row) => {
                    if !row.is_sealed() {
                        row.check_writer(CURRENT_FORMAT)?;
                    }
                    let mut transaction =
                        TableTransaction::new(&CallerCommits, TableView::new(link, row));
                    transaction.view.store.mark_sealed();
                    transaction.write_store_row(0)?;
                }
                // A damaged row cannot be sealed, and does not need to be: no client can open it.
                Err(StoreFault::Damaged { .. }) => {}
                Err(fault) => return Err(fault),
            }
            let kept_as = format!("{} (superseded {when})", shared.project);
            // Back to the login role: `find_project` below asks whether `current_user` bypasses
            // row-level security.
            link.run_sql_batch("SET LOCAL ROLE NONE")?;
            // The id is cleared, because the new state takes it over.
            let sql = "UPDATE throughline.project SET name = ?2, uid = NULL WHERE id = ?1";
            link.execute_statement(sql, params![project, kept_as])?;
            aside = Some(kept_as);
        }
        if !Self::insert_project(link, shared, &cargo.store, &cargo.recorded)? {
            return Err(StoreFault::Locked { holder: None });
        }
        insert_access_contents(link, book)?;
        let view = TableView::new(link, read_store_row(link, "")?);
        let mut findings = Vec::new();
        verify_tables(&view, None, &mut findings);
        // A missing text was missing before: it must not keep a damaged state from being replaced.
        let lost = findings
            .into_iter()
            .find(|finding| finding.kind != StoreFindingKind::TextMissing);
        if let Some(first) = lost {
            return Err(StoreFault::Damaged {
                what: first.message,
            });
        }
        StoreDump::new(view.store.store.clone(), view.load_all_entries()?).check_copy_of(cargo)?;
        Ok(aside)
    }

    /// Quarantines a project: seals it and renames it, so that its name is free. Returns the new
    /// name; clients that have it open get an error at their next operation.
    pub(crate) fn quarantine_project(
        layout: &Layout,
        when: &str,
    ) -> Result<Option<String>, StoreFault> {
        match Self::open(layout, &EngineSettings::default()).and_then(|store| store.retire_state())
        {
            // A damaged state cannot be sealed, and does not need to be: no client can open it.
            Ok(()) | Err(StoreFault::Missing | StoreFault::Damaged { .. }) => {}
            Err(fault) => return Err(fault),
        }
        let (shared, link) = connect_shared_database(layout, &EngineSettings::default())?;
        let found = match find_project(&link, shared) {
            Err(StoreFault::Missing) => return Ok(None),
            found => found?,
        };
        let Some(project) = found.project else {
            return Ok(None);
        };
        // The update below needs the column `uid`.
        if found.format < PROJECT_ID_FORMAT {
            migrate::apply_migrations(&link)?;
        }
        let superseded = format!("{} (superseded {when})", shared.project);
        // The id is cleared, because the project's replacement takes it over.
        let sql = "UPDATE throughline.project SET name = ?2, uid = NULL WHERE id = ?1";
        Ok((link.execute_statement(sql, params![project, superseded])? > 0).then_some(superseded))
    }

    /// Returns the id of the project with this one's name in the shared database; `None` if there
    /// is no such project or it was created before projects had ids.
    pub(crate) fn project_id_by_name(layout: &Layout) -> Result<Option<String>, StoreFault> {
        let (shared, link) = connect_shared_database(layout, &EngineSettings::default())?;
        match find_project_by_name(&link, &shared.project) {
            Err(StoreFault::Missing) => Ok(None),
            found => Ok(found?.1.and_then(|(_, id)| id)),
        }
    }

    /// Assigns an id to the project with this one's name if it has none; returns whether it did.
    pub(crate) fn assign_project_id(layout: &Layout, id: &str) -> Result<bool, StoreFault> {
        let (shared, link) = connect_shared_database(layout, &EngineSettings::default())?;
        if find_project_by_name(&link, &shared.project)?.0.format < PROJECT_ID_FORMAT {
            migrate::apply_migrations(&link)?;
        }
        let sql = "UPDATE throughline.project SET uid = ?2 WHERE name = ?1 AND uid IS NULL";
        Ok(link.execute_statement(sql, params![shared.project, id])? > 0)
    }

    /// Reads the `store` row: identity, format and head.
    pub(crate) fn read_store_row(&self) -> Result<StoreRow, StoreFault> {
        let row = self.begin_transaction(TransactionMode::Reading)?;
        self.link.roll_back();
        Ok(row)
    }

    /// Returns the store's id.
    pub(crate) fn read_store_id(&self) -> Result<StoreId, StoreFault> {
        Ok(self.read_store_row()?.store)
    }

    /// Lets `accept` check the store's id, then compares its history with the head this user saw
    /// last.
    pub(crate) fn compare_known_history(
        &self,
        accept: &dyn Fn(&StoreId) -> Result<(), StoreFault>,
    ) -> Result<(), StoreFault> {
        let view = self.begin_read_transaction()?;
        let row = &view.store;
        row.check_reader(CURRENT_FORMAT)?;
        accept(&row.store)?;
        let Some(heads) = &self.settings.heads else {
            return Ok(());
        };
        let compared = heads.compare_head(&row.store, (row.head, row.head_hash), &|number| {
            view.chain_hash(number)
        });
        self.history.set(compared?);
        Ok(())
    }

    /// Returns every operation with its texts.
    pub(crate) fn load_all_entries(&self) -> Result<(StoreId, Vec<ChainedOperation>), StoreFault> {
        let view = self.begin_read_transaction()?;
        Ok((view.store.store.clone(), view.load_all_entries()?))
    }

    /// Takes the write lock, keeps it, and returns every operation with its texts.
    pub(crate) fn lock_and_load(&self) -> Result<(StoreRow, Vec<ChainedOperation>), StoreFault> {
        let row = self.begin_transaction(TransactionMode::Writing)?;
        row.check_writer(CURRENT_FORMAT)
            .inspect_err(|_| self.link.roll_back())?;
        // Copying a large state elsewhere leaves this transaction idle for long.
        let held = self
            .link
            .run_sql_batch("SET LOCAL idle_in_transaction_session_timeout = 0");
        let held = held.and_then(|()| TableView::new(&self.link, row.clone()).load_all_entries());
        held.map(|entries| (row, entries))
            .inspect_err(|_| self.link.roll_back())
    }

    /// Seals this state under a new write lock: no machine can use it any more.
    pub(crate) fn retire_state(&self) -> Result<(), StoreFault> {
        let row = self.begin_transaction(TransactionMode::Writing)?;
        self.seal_state(row)
    }

    /// Seals this state, with the write lock held, and commits.
    pub(crate) fn seal_state(&self, row: StoreRow) -> Result<(), StoreFault> {
        let mut transaction = TableTransaction::new(self, TableView::new(&self.link, row));
        transaction.view.store.mark_sealed();
        transaction.write_store_row(0)?;
        self.link.run_sql_batch("COMMIT")?;
        transaction.finished = true;
        Ok(())
    }

    /// Makes a sealed state usable again; returns whether it was sealed.
    pub(crate) fn unseal_state(&self) -> Result<bool, StoreFault> {
        let row = self.begin_transaction(TransactionMode::Writing)?;
        if !row.is_sealed() {
            self.link.roll_back();
            return Ok(false);
        }
        let mut transaction = TableTransaction::new(self, TableView::new(&self.link, row));
        transaction.view.store.mark_unsealed(CURRENT_FORMAT);
        transaction.write_store_row(0)?;
        self.link.run_sql_batch("COMMIT")?;
        transaction.finished = true;
        Ok(true)
    }

    /// Rebuilds the tables from the operations, if these are intact. Returns their number.
    pub(crate) fn rebuild_tables(&self) -> Result<usize, StoreFault> {
        let row = self.begin_write_transaction()?;
        let rebuilt = (|| {
            // Loaded completely before anything is deleted; a damaged operation fails here.
            let entries = TableView::new(&self.link, row.clone()).load_all_entries()?;
            for table in DERIVED_TABLES {
                self.link
                    .execute_statement(&format!("DELETE FROM {table}"), params![])?;
            }
            let row = StoreRow {
                min_reader: row.min_reader,
                min_writer: row.min_writer,
                ..empty_store_row(&row.store)
            };
            let values = row.column_values();
            let sql = "UPDATE store SET store_id = ?1, min_reader = ?2, min_writer = ?3, head = ?4, head_hash = ?5, \
                       journal_size = ?6, next_node = ?7, node_total = ?8, sum = ?9";
            self.link.execute_statement(sql, &as_sql_params(&values))?;
            replay_operations(&self.link, row, &entries)?;
            self.link.run_sql_batch("COMMIT")?;
            Ok(entries.len())
        })();
        if rebuilt.is_err() {
            self.link.roll_back();
        }
        rebuilt
    }

    fn begin_transaction(&self, purpose: TransactionMode) -> Result<StoreRow, StoreFault> {
        self.link.begin_transaction(purpose)?;
        let locking = if purpose == TransactionMode::Writing {
            " FOR UPDATE"
        } else {
            ""
        };
        read_store_row(&self.link, locking).inspect_err(|_| self.link.roll_back())
    }

    /// Begins a write transaction and takes the write lock.
    fn begin_write_transaction(&self) -> Result<StoreRow, StoreFault> {
        if self.format.get() < CURRENT_FORMAT {
            migrate::apply_migrations(&self.link)?;
            self.format.set(CURRENT_FORMAT);
        }
        let row = self.begin_transaction(TransactionMode::Writing)?;
        // Read after the lock was taken: a newer program may have migrated while we waited.
        row.check_writer(CURRENT_FORMAT)
            .inspect_err(|_| self.link.roll_back())?;
        Ok(row)
    }

    fn begin_read_transaction(&self) -> Result<TableView<'_>, StoreFault> {
        let row = self.begin_transaction(TransactionMode::Reading)?;
        row.check_reader(CURRENT_FORMAT)
            .inspect_err(|_| self.link.roll_back())?;
        Ok(TableView::for_reading(&self.link, row))
    }

    /// Whether a transaction was committed whose connection was lost during the commit.
    ///
    /// Decided by the writer id stored with its operations: their content could be another writer's
    /// too, and PostgreSQL reuses transaction ids after a crash.
    fn was_committed(&self, head: OperationId, writer: &str) -> Result<bool, StoreFault> {
        // Waiting for the write lock also waits until that transaction is committed or rolled back.
        self.begin_transaction(TransactionMode::Writing)?;
        let mut found = false;
        let sql = "SELECT 1 FROM operation WHERE id = ?1 AND writer = ?2";
        let looked = self
            .link
            .query_rows(sql, params![head.0.cast_signed(), writer], &mut |_| {
                found = true;
                Ok(())
            });
        self.link.roll_back();
        looked.map(|()| found)
    }

    fn notification_channel(&self) -> String {
        format!("throughline_{}", self.project)
    }

    /// Writes changed nodes to the mirror, including changes of other machines. Best effort: the
    /// operation is committed, and the next export catches up.
    fn update_mirror(&self, operations: &[Operation]) {
        if self.settings.mirror
            && let Ok(view) = self.begin_read_transaction()
        {
            let _ = self.mirror.catch_up_after_commit(
                &view,
                operations,
                self.settings.mirror_schedule(),
            );
        }
    }
}

fn connect_shared_database<'l>(
    layout: &'l Layout,
    settings: &EngineSettings,
) -> Result<(&'l SharedProject, PostgresConnection), StoreFault> {
    let shared = layout
        .shared
        .as_ref()
        .ok_or_else(|| StoreFault::Unreachable {
            at: "of this project".to_owned(),
            why: "its address is not configured".to_owned(),
        })?;
    let link = PostgresConnection::connect(
        DatabaseAddress::parse(&shared.url)?,
        settings.patience,
        layout.load_working_copy_name()?,
    )?;
    Ok((shared, link))
}

/// Looks up a project: identified by its id, with the name as the first guess.
///
/// [`StoreFault::AnotherProject`] if the name belongs to a project with another id, or only one of
/// the two has an id.
fn find_project(
    link: &PostgresConnection,
    shared: &SharedProject,
) -> Result<FoundProject, StoreFault> {
    let (found, named) = find_project_by_name(link, &shared.project)?;
    let project = match (&named, &shared.id) {
        (Some((project, id)), own) if id == own => Some(*project),
        (_, Some(own)) if found.format >= PROJECT_ID_FORMAT => find_project_by_id(link, own)?,
        _ => None,
    };
    if project.is_none() && named.is_some() {
        return Err(StoreFault::AnotherProject {
            name: shared.project.clone(),
            at: shared.url.to_string(),
        });
    }
    Ok(FoundProject { project, ..found })
}

/// Returns the state of the database, and the project with this name and its id.
#[expect(clippy::type_complexity, reason = "a row of one statement")]
fn find_project_by_name(
    link: &PostgresConnection,
    name: &str,
) -> Result<(FoundProject, Option<(i64, Option<String>)>), StoreFault> {
    // `uid` through JSON, because a database before migration 2 has no such column. One statement,
    // because every hook runs it and a round trip to another machine is the main cost.
    let sql = "SELECT (SELECT max(number) FROM throughline.migration), \
               (SELECT (rolsuper OR rolbypassrls)::INT FROM pg_roles WHERE rolname = current_user), \
               named.id, to_jsonb(named)->>'uid' \
               FROM (SELECT 1) AS one LEFT JOIN throughline.project AS named ON named.name = ?1";
    let mut found = FoundProject {
        project: None,
        format: 0,
        // The safe assumption: the restricted role keeps projects separate in any case.
        sees_all: true,
    };
    let mut named = None;
    link.query_rows(sql, params![name], &mut |row| {
        found.format = row.get::<Option<i64>>(0)?.unwrap_or_default();
        found.sees_all = row
            .get::<Option<i64>>(1)?
            .is_none_or(|sees_all| sees_all != 0);
        let id: Option<String> = row.get(3)?;
        named = row.get::<Option<i64>>(2)?.map(|project| (project, id));
        Ok(())
    })?;
    Ok((found, named))
}

fn find_project_by_id(link: &PostgresConnection, id: &str) -> Result<Option<i64>, StoreFault> {
    let mut project = None;
    link.query_rows(
        "SELECT id FROM throughline.project WHERE uid = ?1",
        params![id],
        &mut |row| {
            project = Some(row.get(0)?);
            Ok(())
        },
    )?;
    Ok(project)
}

fn empty_store_row(store: &StoreId) -> StoreRow {
    StoreRow {
        store: store.clone(),
        min_reader: 1,
        min_writer: 1,
        head: OperationId(0),
        head_hash: journal::chain_start_hash(store),
        journal_size: 0,
        next_node: 1,
        node_total: 0,
    }
}

/// Applies operations to empty tables, in the current transaction.
fn replay_operations(
    link: &PostgresConnection,
    row: StoreRow,
    recorded: &[ChainedOperation],
) -> Result<(), StoreFault> {
    let mut transaction = TableTransaction::new(&CallerCommits, TableView::new(link, row));
    transaction.replay_operations(recorded)?;
    transaction.write_store_row(0)
}

/// Owner of a table transaction nested in one that the caller commits or rolls back.
struct CallerCommits;

impl TransactionOwner for CallerCommits {
    fn commit_transaction(
        &self,
        _transaction: &mut TableTransaction<'_>,
    ) -> Result<(), StoreFault> {
        Ok(())
    }

    fn roll_back(&self) {}

    fn add_warnings(&self, _warnings: Vec<String>) {}
}

impl TransactionOwner for PostgresStore {
    fn commit_transaction(&self, transaction: &mut TableTransaction<'_>) -> Result<(), StoreFault> {
        transaction.write_store_row(0)?;
        let head = transaction.view.store.head;
        if transaction.operations.is_empty() {
            self.link.run_sql_batch("COMMIT")?;
            transaction.finished = true;
            return Ok(());
        }
        // NOTIFY in the same message as COMMIT, but after it: inside the transaction it takes a
        // lock of the whole database until the commit, which serialises the writers of all
        // projects.
        let writer = self.link.writer_id();
        let told = self.link.run_sql_batch(&format!(
            "COMMIT; NOTIFY {}, '{head}'",
            self.notification_channel()
        ));
        transaction.finished = true;
        if let Err(fault) = told {
            match self.was_committed(head, &writer) {
                Ok(true) => {}
                Ok(false) => return Err(fault),
                Err(_) => {
                    return Err(StoreFault::Unreachable {
                        at: self.link.display_address().to_owned(),
                        why: format!(
                            "the connection was lost while operation {head} was committed; \
                             `tl log` shows whether it was"
                        ),
                    });
                }
            }
        }
        if let Some(heads) = &self.settings.heads {
            let (found, now) = (&transaction.found, &transaction.view.store);
            // Other machines commit between two of our operations; their part of the chain is
            // verified when the store is next opened.
            let unknown = |_| Ok(None);
            heads.advance_head(
                &now.store,
                (found.head, found.head_hash),
                (now.head, now.head_hash),
                &unknown,
            );
        }
        self.update_mirror(&transaction.operations);
        Ok(())
    }

    fn roll_back(&self) {
        self.link.roll_back();
    }

    fn add_warnings(&self, warnings: Vec<String>) {
        self.warnings.borrow_mut().extend(warnings);
    }
}

impl AccessTransactions for PostgresStore {
    fn run_read_transaction(
        &self,
        work: &mut dyn FnMut(&dyn SqlConnection) -> Result<(), StoreFault>,
    ) -> Result<(), StoreFault> {
        self.link.begin_transaction(TransactionMode::Reading)?;
        let looked = work(&self.link);
        self.link.roll_back();
        looked
    }

    fn run_write_transaction(
        &self,
        work: &mut dyn FnMut(&dyn SqlConnection) -> Result<(), StoreFault>,
    ) -> Result<(), StoreFault> {
        self.link.begin_transaction(TransactionMode::Writing)?;
        let written = work(&self.link).and_then(|()| self.link.run_sql_batch("COMMIT"));
        if written.is_err() {
            self.link.roll_back();
        }
        written
    }
}

impl Store for PostgresStore {
    fn is_shared(&self) -> bool {
        true
    }

    fn begin_read(&self) -> Result<Box<dyn Snapshot + '_>, StoreFault> {
        Ok(Box::new(self.begin_read_transaction()?))
    }

    fn begin_write(&self) -> Result<Box<dyn Transaction + '_>, StoreFault> {
        let row = self.begin_write_transaction()?;
        Ok(Box::new(TableTransaction::new(
            self,
            TableView::new(&self.link, row),
        )))
    }

    fn wait_for_change(
        &self,
        known: OperationId,
        most: Duration,
    ) -> Result<OperationId, StoreFault> {
        let begun = Instant::now();
        loop {
            // LISTEN before reading the head, so that no commit in between is missed; in every
            // round, because a new connection does not listen yet.
            let _ = self
                .link
                .run_sql_batch(&format!("LISTEN {}", self.notification_channel()));
            let head = self.begin_transaction(TransactionMode::Reading)?.head;
            self.link.roll_back();
            let left = most.saturating_sub(begun.elapsed());
            if head != known || left.is_zero() {
                return Ok(head);
            }
            // Errors are ignored: the next round reconnects.
            let _ = self
                .link
                .await_notification(&self.notification_channel(), left.min(POLL_INTERVAL));
        }
    }

    fn verify_integrity(&self) -> Result<Vec<StoreFinding>, StoreFault> {
        let view = &self.begin_read_transaction()?;
        let mut findings = Vec::new();
        let damaged = |what: String| store_finding(StoreFindingKind::DatabaseDamaged, what);
        findings.extend(verify_bodies(view));
        // Replayed by the in-memory implementation, so a bug in the tables shows as a difference.
        let replayed = view
            .load_all_entries()
            .map_err(|fault| fault.to_string())
            .and_then(|entries| ReplayedHistory::from_entries(view.store.store.clone(), &entries));
        let (replayed, fault) = match replayed {
            Ok(replayed) => (Some(replayed), None),
            Err(fault) => (None, Some(fault)),
        };
        let difference = verify_tables(view, replayed, &mut findings);
        findings.extend(fault.or(difference).map(damaged));
        if self.settings.mirror {
            let mirror =
                self.mirror
                    .verify_against(view, self.settings.mirror_schedule(), &|each| {
                        view.visit_nodes(each)
                    });
            findings.extend(
                mirror.map_err(|error| io_fault("cannot read", &self.layout.mirror, error))?,
            );
        }
        Ok(findings)
    }

    fn finish_mirror(&self) {
        if !self.settings.mirror {
            return;
        }
        let Ok(row) = self.begin_read_transaction().map(|view| view.store.clone()) else {
            return;
        };
        let _ = self.mirror.write_backlog(
            &(row.store, row.head),
            self.settings.mirror_schedule(),
            || self.begin_read_transaction(),
        );
    }

    fn sync_mirror(&self) -> Result<usize, StoreFault> {
        if !self.settings.mirror {
            return Ok(0);
        }
        let view = self.begin_read_transaction()?;
        self.mirror
            .sync_all(&view)
            .map_err(|error| io_fault("cannot write", &self.layout.mirror, error))
    }

    fn history_state(&self) -> HistoryState {
        self.history.get()
    }

    fn take_warnings(&self) -> Vec<String> {
        self.warnings.take()
    }

    fn token_store(&self) -> Option<Box<dyn TokenStore + '_>> {
        Some(Box::new(AccessTables(self)))
    }
}
