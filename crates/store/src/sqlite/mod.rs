//! SQLite engine: one database file per project, with a journal file as the durable log.
//!
//! Write path: `BEGIN IMMEDIATE` → reconcile with the journal → apply facts → append to the journal
//! and sync → `COMMIT` → mirror. A kill between any two steps loses nothing that was acknowledged.

pub(crate) mod connection;
mod journal_sync;
mod migrate;
mod rollback_detection;
mod search;
mod sql;
mod upgrade;
mod verify;
mod write_queue;

use std::cell::{Cell, RefCell};
use std::fs;
use std::path::Path;
use std::time::Instant;

use domain::ids::{Digest32, OperationId, StoreId};
use domain::operation::Operation;
use domain::ports::{
    HistoryState, Recovery, Snapshot, Store, StoreFault, StoreFinding, TokenStore, Transaction,
};
use domain::time::Timestamp;
use rusqlite::{Connection, params_from_iter};

use self::connection::OpenMode;
use self::journal_sync::JournalComparison;
use self::migrate::{CURRENT_FORMAT, DatabaseKind, MIGRATIONS, Migration};
use self::sql::SqliteConnection;
use self::write_queue::{Turn, wait_for_turn};
use crate::engine::{ChainedOperation, EngineSettings, io_fault};
use crate::journal::{self, Journal, JournalStamp};
use crate::layout::Layout;
use crate::mirror::Mirror;
use crate::tables::DERIVED_TABLES;
use crate::tables::access::{AccessTables, AccessTransactions};
use crate::tables::sql::SqlConnection;
use crate::tables::store_row::{StoreRow, read_store_row};
use crate::tables::view::TableView;
use crate::tables::write::{TableTransaction, TransactionOwner};

/// An open SQLite database of a project.
pub(crate) struct SqliteStore {
    connection: SqliteConnection,
    layout: Layout,
    journal: Journal,
    mirror: Mirror,
    settings: EngineSettings,
    /// The migrations of this program.
    migrations: &'static [Migration],
    /// The schema version of the database, as far as this process knows it.
    format: Cell<i64>,
    recoveries: RefCell<Vec<Recovery>>,
    warnings: RefCell<Vec<String>>,
    /// Cache of the last comparison: the journal file that was equal to the database, and the head.
    compared: Cell<Option<(JournalStamp, Digest32)>>,
    /// Set if the file cannot be written (read-only or full disk).
    read_only: bool,
    /// How the history compares with the head this user saw last.
    history: Cell<HistoryState>,
    /// The first place in the queue of writers, for the time of a write transaction.
    turn: Cell<Option<Turn>>,
}

impl SqliteStore {
    /// The schema version this program reads and writes.
    pub(crate) const FORMAT: i64 = CURRENT_FORMAT;

    /// Opens a project's database after checking the file and its header. Falls back to read-only.
    pub(crate) fn open(layout: &Layout, settings: &EngineSettings) -> Result<Self, StoreFault> {
        Self::open_with_migrations(layout, settings, MIGRATIONS)
    }

    /// As [`Self::open`], for a program with these migrations.
    ///
    /// An older database is migrated by the first transaction: until then nothing is known of it
    /// but its header and its `store` row, by which the caller decides whether to trust it.
    fn open_with_migrations(
        layout: &Layout,
        settings: &EngineSettings,
        migrations: &'static [Migration],
    ) -> Result<Self, StoreFault> {
        let (connection, condition, read_only) = match Self::open_writable(layout, settings) {
            Ok((connection, condition)) => (connection, condition, false),
            Err(StoreFault::ReadOnly { .. }) => {
                let connection = connection::open_immutable(&layout.database)?;
                let condition = migrate::detect_database_kind(&connection, &layout.database)?;
                (connection, condition, true)
            }
            Err(other) => return Err(other),
        };
        let format = match condition {
            DatabaseKind::Ours { format } => format,
            DatabaseKind::Empty => {
                return Err(StoreFault::Damaged {
                    what: "the database is empty".to_owned(),
                });
            }
            DatabaseKind::AnotherProgram => {
                return Err(StoreFault::AnotherProgram {
                    path: layout.database.clone(),
                });
            }
        };
        let store = Self {
            connection: SqliteConnection::new(connection, &layout.database),
            journal: Journal::new(&layout.journal),
            mirror: Mirror::new(&layout.mirror),
            layout: layout.clone(),
            settings: settings.clone(),
            migrations,
            format: Cell::new(format),
            recoveries: RefCell::new(Vec::new()),
            warnings: RefCell::default(),
            compared: Cell::new(None),
            read_only,
            history: Cell::default(),
            turn: Cell::default(),
        };
        if format > store.newest_format() {
            store
                .read_store_row()?
                .check_reads_by(store.newest_format())?;
        }
        Ok(store)
    }

    /// Returns the store's id.
    pub(crate) fn read_store_id(&self) -> Result<StoreId, StoreFault> {
        Ok(read_store_row(&self.connection, "")?.store)
    }

    /// Returns every operation with its texts.
    pub(crate) fn load_all_entries(&self) -> Result<(StoreId, Vec<ChainedOperation>), StoreFault> {
        // Replays what an interrupted process left in the journal only.
        drop(self.begin_read()?);
        let row = self.begin_transaction("BEGIN")?;
        let view = self.view_for_reading(row);
        Ok((view.store.store.clone(), view.load_all_entries()?))
    }

    /// Reads the `store` row: identity, format and head.
    pub(crate) fn read_store_row(&self) -> Result<StoreRow, StoreFault> {
        read_store_row(&self.connection, "")
    }

    /// Takes the write lock, keeps it, and returns every operation with its texts.
    pub(crate) fn lock_and_load(&self) -> Result<(StoreRow, Vec<ChainedOperation>), StoreFault> {
        let row = self.lock_for_replacement()?;
        let held = self.reconcile_journal(row).and_then(|row| {
            let entries = self.view_at(row.clone()).load_all_entries()?;
            Ok((row, entries))
        });
        held.inspect_err(|_| self.roll_back())
    }

    /// Takes the write lock and keeps it; refuses a sealed state and one of a newer program.
    pub(crate) fn lock_for_replacement(&self) -> Result<StoreRow, StoreFault> {
        if self.read_only {
            return Err(StoreFault::ReadOnly {
                path: self.layout.database.clone(),
            });
        }
        self.begin_writing()
    }

    /// Takes the write lock; refuses a sealed state and one that only newer programs may write.
    fn begin_writing(&self) -> Result<StoreRow, StoreFault> {
        let row = self.begin_transaction("BEGIN IMMEDIATE")?;
        row.check_writer(self.newest_format())
            .inspect_err(|_| self.roll_back())?;
        Ok(row)
    }

    /// Seals this state, with the write lock held, and commits: every process that has it open gets
    /// [`StoreFault::Moved`].
    pub(crate) fn seal_state(&self, row: StoreRow) -> Result<(), StoreFault> {
        let size = row.journal_size;
        let mut transaction = self.transaction_at(row);
        transaction.view.store.mark_sealed();
        self.finish_transaction(&mut transaction, size)?;
        drop(transaction);
        // The seal must reach the database file itself: a process that has opened the file but not
        // yet the write-ahead log would not see it.
        let _ = self.checkpoint_log();
        Ok(())
    }

    /// Makes a sealed state usable again; returns whether it was sealed.
    pub(crate) fn unseal_state(&self) -> Result<bool, StoreFault> {
        let row = self.begin_as_is("BEGIN IMMEDIATE")?;
        if !row.is_sealed() {
            self.roll_back();
            return Ok(false);
        }
        // The seal took the place of the required format, so only the schema version is left to
        // tell that a newer program wrote this.
        let found = migrate::read_format(&self.connection.inner, &self.connection.path)
            .inspect_err(|_| self.roll_back())?;
        if found > self.newest_format() {
            self.roll_back();
            return Err(StoreFault::Newer {
                found,
                known: self.newest_format(),
            });
        }
        let size = row.journal_size;
        let mut transaction = self.transaction_at(row);
        transaction.view.store.mark_unsealed(found);
        self.finish_transaction(&mut transaction, size)?;
        Ok(true)
    }

    /// Checkpoints the write-ahead log completely and truncates it.
    pub(crate) fn checkpoint_log(&self) -> Result<(), StoreFault> {
        let busy: i64 = self
            .connection
            .inner
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
            .map_err(|error| self.connection.to_fault(error))?;
        // The pragma reports a blocked checkpoint in its result, not as an error.
        if busy != 0 {
            return Err(StoreFault::Locked { holder: None });
        }
        Ok(())
    }

    /// If the database itself is intact, repairs a damaged journal from it; returns whether it is.
    pub(crate) fn repair_journal_if_intact(&self) -> Result<bool, StoreFault> {
        use domain::ports::StoreFindingKind::{DatabaseDamaged, JournalDamaged, TextMissing};
        let Ok(findings) = self.verify_integrity() else {
            return Ok(false);
        };
        if findings
            .iter()
            .any(|finding| matches!(finding.kind, DatabaseDamaged | TextMissing))
        {
            return Ok(false);
        }
        if findings
            .iter()
            .any(|finding| finding.kind == JournalDamaged)
        {
            let row = self.begin_writing()?;
            let rewritten = self.rewrite_journal(row);
            self.roll_back();
            rewritten?;
        }
        Ok(true)
    }

    fn open_writable(
        layout: &Layout,
        settings: &EngineSettings,
    ) -> Result<(Connection, DatabaseKind), StoreFault> {
        let connection = connection::open_database_file(
            &layout.database,
            &OpenMode::Existing,
            settings.patience,
        )?;
        let condition = migrate::detect_database_kind(&connection, &layout.database)?;
        Ok((connection, condition))
    }

    /// Builds a new database by replaying `recorded`; `journal_size` is where they end in the
    /// journal.
    pub(crate) fn build_database(
        layout: &Layout,
        id: &StoreId,
        recorded: &[ChainedOperation],
        journal_size: u64,
    ) -> Result<(), StoreFault> {
        // Built beside the database and renamed over it at the end: a crash in between leaves the
        // old file, and rename is atomic only within one file system.
        let folder = layout.database.parent().unwrap_or(&layout.home);
        let temporary = tempfile::Builder::new()
            .prefix(".tl-build-")
            .tempdir_in(folder)
            .map_err(|error| io_fault("cannot write in", folder, error))?;
        let path = temporary.path().join("state.db");
        let settings = EngineSettings {
            mirror: false,
            ..EngineSettings::default()
        };
        create_empty_database(&path, id)?;
        {
            let store = Self::open(
                &Layout {
                    database: path.clone(),
                    ..layout.clone()
                },
                &settings,
            )?;
            let row = store.begin_transaction("BEGIN IMMEDIATE")?;
            let mut transaction = store.transaction_at(row);
            transaction.replay_operations(recorded)?;
            store.finish_transaction(&mut transaction, journal_size)?;
            drop(transaction);
            // Only the main file is renamed, so nothing may be left in the log.
            store.checkpoint_log()?;
        }
        restrict_permissions(&path);
        let moved = fs::File::open(&path)
            .and_then(|file| file.sync_all())
            .and_then(|()| fs::rename(&path, &layout.database))
            .and_then(|()| crate::durable::sync_folder(folder));
        moved.map_err(|error| io_fault("cannot write", &layout.database, error))
    }

    /// Returns a view that ends its read transaction when it is dropped.
    fn view_for_reading(&self, row: StoreRow) -> TableView<'_> {
        TableView::for_reading(&self.connection, row)
    }

    fn view_at(&self, row: StoreRow) -> TableView<'_> {
        TableView::new(&self.connection, row)
    }

    /// Begins a write transaction: takes the write lock and reconciles database and journal.
    pub(crate) fn begin_write_transaction(&self) -> Result<TableTransaction<'_>, StoreFault> {
        if self.read_only {
            return Err(StoreFault::ReadOnly {
                path: self.layout.database.clone(),
            });
        }
        self.upgrade_if_older()?;
        let row = self.begin_in_turn()?;
        // Read after the lock was taken: a newer program may have migrated while we waited.
        let row = row
            .check_writer(self.newest_format())
            .and_then(|()| self.reconcile_journal(row))
            .inspect_err(|_| self.roll_back())?;
        Ok(self.transaction_at(row))
    }

    /// Replaces the whole history by these operations and rebuilds the tables from them, in one
    /// transaction. File stamps are deleted, because node ids may be assigned differently now.
    pub(crate) fn rewrite_history(&self, entries: &[ChainedOperation]) -> Result<(), StoreFault> {
        let found = self.begin_writing()?;
        self.replace_history(found, entries)
    }

    /// As [`Self::rewrite_history`], with the write lock of [`Self::lock_for_replacement`], which it
    /// releases.
    pub(crate) fn replace_history(
        &self,
        found: StoreRow,
        entries: &[ChainedOperation],
    ) -> Result<(), StoreFault> {
        let store = StoreRow {
            head: OperationId(0),
            head_hash: journal::chain_start_hash(&found.store),
            next_node: 1,
            node_total: 0,
            ..found.clone()
        };
        // Rolls back if dropped before `finish`.
        let mut transaction = self.transaction_at(store);
        transaction.found = found;
        for table in DERIVED_TABLES.iter().chain(&["stamp"]) {
            self.connection
                .execute_statement(&format!("DELETE FROM {table}"), &[])?;
        }
        // Deleting FTS5 rows one by one would leave their words in the index until segments merge;
        // a rewrite after a secret was purged must leave none.
        self.connection
            .execute_statement("INSERT INTO search (search) VALUES ('delete-all')", &[])?;
        let mut lines = Vec::with_capacity(entries.len());
        for one in entries {
            transaction.apply_recorded(one)?;
            lines.push(one.to_journal_line()?);
        }
        let unwritable = |error| io_fault("cannot write", self.journal.path(), error);
        let size = self
            .journal
            .write_new_journal(&transaction.view.store.store, &lines)
            .map_err(unwritable)?;
        self.finish_transaction(&mut transaction, size)?;
        drop(transaction);
        // Also deletes files of removed nodes. The mirror is a copy, so a failure here is not one
        // of the rewrite; the next export catches up.
        let _ = self.sync_mirror();
        Ok(())
    }

    /// Releases the write lock of [`Self::lock_for_replacement`] without a change.
    pub(crate) fn release_write_lock(&self) {
        self.roll_back();
    }

    /// Returns the last operation's id and hash.
    pub(crate) fn head_position(&self) -> Result<(OperationId, Digest32), StoreFault> {
        let row = read_store_row(&self.connection, "")?;
        Ok((row.head, row.head_hash))
    }

    /// Sets the store's clock to a shared one, which shows `now`; it goes on with the monotonic
    /// clock.
    pub(crate) fn set_shared_clock(&self, now: Timestamp) {
        self.connection.clock.set(Some((now, Instant::now())));
    }

    /// Sets the id of the working copy whose replica this is.
    pub(crate) fn set_working_copy(&self, name: String) {
        // Set once, right after opening.
        let _ = self.connection.working_copy.set(name);
    }

    fn transaction_at(&self, row: StoreRow) -> TableTransaction<'_> {
        TableTransaction::new(self, self.view_at(row))
    }

    /// Writes the `store` row and commits; `journal_size` is the journal's length now.
    fn finish_transaction(
        &self,
        transaction: &mut TableTransaction<'_>,
        journal_size: u64,
    ) -> Result<(), StoreFault> {
        transaction.write_store_row(journal_size)?;
        connection::run_cached_statement(&self.connection.inner, "COMMIT")
            .map_err(|error| self.connection.to_fault(error))?;
        transaction.finished = true;
        self.turn.take();
        Ok(())
    }

    /// Begins a transaction, on a database that this program can read.
    fn begin_transaction(&self, how: &str) -> Result<StoreRow, StoreFault> {
        self.upgrade_if_older()?;
        let row = self.begin_as_is(how)?;
        // Also here and not only on opening: a newer program may have migrated meanwhile.
        row.check_reads_by(self.newest_format())
            .inspect_err(|_| self.roll_back())?;
        Ok(row)
    }

    /// Begins a transaction, whatever the format of the database: only its `store` row may be used.
    fn begin_as_is(&self, how: &str) -> Result<StoreRow, StoreFault> {
        connection::run_cached_statement(&self.connection.inner, how)
            .map_err(|error| self.connection.to_fault(error))?;
        read_store_row(&self.connection, "").inspect_err(|_| self.roll_back())
    }

    /// Takes the write lock after the writers that came before.
    ///
    /// The place in the queue is kept until the transaction ends: the kernel then wakes the next
    /// writer at that moment. Given up earlier, that one would poll SQLite's lock.
    fn begin_in_turn(&self) -> Result<StoreRow, StoreFault> {
        let begin = || self.begin_as_is("BEGIN IMMEDIATE");
        if connection::is_in_a_hurry() {
            return begin();
        }
        let since = Instant::now();
        let path = self.layout.home.join("write-queue");
        let Some(turn) = wait_for_turn(&path, connection::lock_timeout()) else {
            return Err(StoreFault::Locked {
                holder: connection::find_lock_holder(&self.layout.database),
            });
        };
        let row = connection::waiting_since(since, begin)?;
        self.turn.set(Some(turn));
        Ok(row)
    }

    fn roll_back(&self) {
        self.connection.roll_back();
        self.turn.take();
    }

    /// Returns the operations after `after` that are still readable and continue the chain from
    /// `prev`, for a rebuild. Stops at the first gap.
    pub(crate) fn salvage_operations(
        layout: &Layout,
        settings: &EngineSettings,
        after: OperationId,
        prev: domain::ids::Digest32,
    ) -> Vec<ChainedOperation> {
        let Ok(store) = Self::open(layout, settings) else {
            return Vec::new();
        };
        let Ok(row) = read_store_row(&store.connection, "") else {
            return Vec::new();
        };
        let view = store.view_at(row.clone());
        let mut prev = prev;
        let mut found = Vec::new();
        let mut next = after.next_id();
        while next <= row.head {
            let Ok(mut one) = view.recorded_operation_range(next, next) else {
                break;
            };
            let Some(operation) = one.pop().filter(|operation| operation.prev == prev) else {
                break;
            };
            let Ok(recorded) = view.load_recorded_entry(&operation) else {
                break;
            };
            prev = recorded.hash;
            found.push(recorded);
            next = next.next_id();
        }
        found
    }

    fn report_recovery(&self, message: String) {
        self.recoveries.borrow_mut().push(Recovery { message });
    }

    /// Checkpoints a long log and writes changed nodes to the mirror. Best effort: the mirror is a
    /// copy, and the next export catches up.
    fn update_mirror(&self, row: StoreRow, operations: &[Operation]) {
        connection::checkpoint_long_log(&self.connection.inner, &self.layout.database);
        if !self.settings.mirror {
            return;
        }
        let view = self.view_at(row);
        let _ =
            self.mirror
                .catch_up_after_commit(&view, operations, self.settings.mirror_schedule());
    }
}

/// Creates a database with the schema and its one `store` row.
fn create_empty_database(path: &Path, id: &StoreId) -> Result<(), StoreFault> {
    let fault = |error| connection::to_fault(path, error);
    let connection =
        connection::open_database_file(path, &OpenMode::Create, std::time::Duration::from_secs(5))?;
    connection
        .query_row("PRAGMA journal_mode=WAL", [], |_| Ok(()))
        .map_err(fault)?;
    let (min_reader, min_writer) = migrate::required_formats(MIGRATIONS);
    let row = StoreRow {
        store: id.clone(),
        min_reader,
        min_writer,
        head: OperationId(0),
        head_hash: journal::chain_start_hash(id),
        journal_size: 0,
        next_node: 1,
        node_total: 0,
    };
    let sql = "INSERT INTO store (one, store_id, min_reader, min_writer, head, head_hash, journal_size, next_node, \
               node_total, sum) VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let transaction = connection.unchecked_transaction().map_err(fault)?;
    migrate::apply_migrations(&connection, path, MIGRATIONS, 0)?;
    transaction
        .execute(sql, params_from_iter(row.column_values()))
        .map_err(fault)?;
    transaction.commit().map_err(fault)
}

/// Restricts the file to its owner.
fn restrict_permissions(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o600));
}

impl TransactionOwner for SqliteStore {
    fn commit_transaction(&self, transaction: &mut TableTransaction<'_>) -> Result<(), StoreFault> {
        let before = transaction.view.store.journal_size;
        if transaction.lines.is_empty() {
            self.finish_transaction(transaction, before)?;
            // Here too: hooks write notes far more often than operations, and each grows the log.
            connection::checkpoint_long_log(&self.connection.inner, &self.layout.database);
            return Ok(());
        }
        let journal = &self.journal;
        let size = match journal.append_lines(&transaction.lines) {
            Ok(size) => size,
            Err(error) => {
                // The next writer would cut a half-written line; better now, with the lock held.
                let _ = journal.truncate_to(before);
                return Err(io_fault("cannot append to", journal.path(), error));
            }
        };
        if let Err(fault) = self.finish_transaction(transaction, size) {
            // Nothing was acknowledged: remove the lines before another process replays them.
            let _ = journal.truncate_to(before);
            return Err(fault);
        }
        self.advance_known_head(transaction);
        self.update_mirror(transaction.view.store.clone(), &transaction.operations);
        Ok(())
    }

    fn roll_back(&self) {
        Self::roll_back(self);
    }

    fn add_warnings(&self, warnings: Vec<String>) {
        self.warnings.borrow_mut().extend(warnings);
    }
}

impl AccessTransactions for SqliteStore {
    fn run_read_transaction(
        &self,
        work: &mut dyn FnMut(&dyn SqlConnection) -> Result<(), StoreFault>,
    ) -> Result<(), StoreFault> {
        self.begin_transaction("BEGIN")?;
        let looked = work(&self.connection);
        self.roll_back();
        looked
    }

    fn run_write_transaction(
        &self,
        work: &mut dyn FnMut(&dyn SqlConnection) -> Result<(), StoreFault>,
    ) -> Result<(), StoreFault> {
        if self.read_only {
            return Err(StoreFault::ReadOnly {
                path: self.layout.database.clone(),
            });
        }
        self.begin_writing()?;
        let written = work(&self.connection).and_then(|()| {
            connection::run_cached_statement(&self.connection.inner, "COMMIT")
                .map_err(|error| self.connection.to_fault(error))
        });
        match written {
            Ok(()) => {
                connection::checkpoint_long_log(&self.connection.inner, &self.layout.database)
            }
            Err(_) => self.roll_back(),
        }
        written
    }
}

impl Store for SqliteStore {
    fn begin_read(&self) -> Result<Box<dyn Snapshot + '_>, StoreFault> {
        let row = self.begin_transaction("BEGIN")?;
        let snapshot = self.view_for_reading(row.clone());
        row.check_reader(self.newest_format())?;
        match self.compare_journal(&row)? {
            // A read-only database cannot be reconciled; its own state is consistent.
            _ if self.read_only => return Ok(Box::new(snapshot)),
            JournalComparison::Equal => return Ok(Box::new(snapshot)),
            JournalComparison::Ahead => {
                drop(snapshot);
                // Either another process is committing: it holds the lock, and readers do not wait
                // for it. Or one died there: taking the lock replays its operation.
                let patience = connection::without_blocking(|| self.begin_write().map(drop));
                if !matches!(patience, Ok(()) | Err(StoreFault::Locked { .. })) {
                    patience?;
                }
            }
            JournalComparison::Wrong => {
                drop(snapshot);
                // Taking the write lock repairs the journal.
                drop(self.begin_write()?);
            }
        }
        let row = self.begin_transaction("BEGIN")?;
        Ok(Box::new(self.view_for_reading(row)))
    }

    fn begin_write(&self) -> Result<Box<dyn Transaction + '_>, StoreFault> {
        Ok(Box::new(self.begin_write_transaction()?))
    }

    fn verify_integrity(&self) -> Result<Vec<StoreFinding>, StoreFault> {
        verify::verify_store(self)
    }

    fn finish_mirror(&self) {
        if !self.settings.mirror || self.read_only {
            return;
        }
        let Ok(row) = self.read_store_row() else {
            return;
        };
        let _ = self.mirror.write_backlog(
            &(row.store, row.head),
            self.settings.mirror_schedule(),
            || Ok(self.view_for_reading(self.begin_transaction("BEGIN")?)),
        );
    }

    fn sync_mirror(&self) -> Result<usize, StoreFault> {
        if !self.settings.mirror {
            return Ok(0);
        }
        let row = self.begin_transaction("BEGIN")?;
        self.mirror
            .sync_all(&self.view_for_reading(row))
            .map_err(|error| io_fault("cannot write", &self.layout.mirror, error))
    }

    fn take_recoveries(&self) -> Vec<Recovery> {
        self.recoveries.take()
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
