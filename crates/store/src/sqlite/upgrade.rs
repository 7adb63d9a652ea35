//! Upgrade of an older database to the format of this program.
//!
//! One write transaction: lock, format read again, verified backup, migrations, verified result,
//! commit. Whatever fails or dies before the commit leaves the old state. It runs at the first
//! transaction and not on opening, because a state from elsewhere has to be trusted first.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use domain::ports::{StoreFault, StoreFindingKind};

use super::connection::{self, OpenMode, open_database_file, open_immutable};
use super::migrate::{
    self, DatabaseKind, apply_migrations, find_page_damage, find_schema_damage, read_format,
    required_formats,
};
use super::sql::SqliteConnection;
use super::{SqliteStore, restrict_permissions};
use crate::durable::{parent_folder, quarantine_file, sync_folder};
use crate::engine::io_fault;
use crate::tables::store_row::{StoreRow, read_store_row};
use crate::tables::verify::verify_tables;
use crate::tables::view::TableView;

/// Free space an upgrade needs, in sizes of the database: the backup, and the rewritten pages in
/// the write-ahead log.
const REQUIRED_SPACE_FACTOR: u64 = 2;

impl SqliteStore {
    /// The format this program migrates to.
    pub(super) fn newest_format(&self) -> i64 {
        migrate::newest_format(self.migrations)
    }

    /// Migrates an older database. No transaction may be open.
    pub(super) fn upgrade_if_older(&self) -> Result<(), StoreFault> {
        if self.format.get() >= self.newest_format() {
            return Ok(());
        }
        if self.read_only {
            return Err(StoreFault::ReadOnly {
                path: self.layout.database.clone(),
            });
        }
        let row = self.begin_in_turn()?;
        self.upgrade_in_transaction(row)
            .inspect_err(|_| self.roll_back())
    }

    fn upgrade_in_transaction(&self, row: StoreRow) -> Result<(), StoreFault> {
        let (path, newest) = (&self.layout.database, self.newest_format());
        // Of several processes that open the database after an upgrade, the first one migrates.
        let found = read_format(&self.connection.inner, path)?;
        if found >= newest {
            self.format.set(found);
            self.roll_back();
            return Ok(());
        }
        row.check_writer(newest)?;
        let backup = self.save_backup(&row, found)?;
        let size = row.journal_size;
        let mut transaction = self.transaction_at(row);
        let migrated = apply_migrations(&self.connection.inner, path, self.migrations, found)
            .and_then(|()| self.verify_migrated(&transaction.view));
        // Not `Damaged`, which would rebuild the state: it is intact, the migration failed.
        migrated.map_err(|fault| match fault {
            StoreFault::Damaged { what } => StoreFault::Io {
                action: format!(
                    "cannot migrate the state from format {found} to {newest}; it is unchanged"
                ),
                source: what.into(),
            },
            other => other,
        })?;
        let (min_reader, min_writer) = required_formats(self.migrations);
        transaction
            .view
            .store
            .require_formats(min_reader, min_writer);
        self.finish_transaction(&mut transaction, size)?;
        self.format.set(newest);
        self.report_recovery(format!(
            "the state was migrated from format {found} to {newest}; a copy from before is in {}",
            self.layout.relative_display(&backup)
        ));
        Ok(())
    }

    /// Checks the migrated tables, before the commit.
    fn verify_migrated(&self, view: &TableView<'_>) -> Result<(), StoreFault> {
        let connection = &self.connection.inner;
        let newest = self.newest_format();
        if let Some(what) = find_page_damage(connection) {
            return Err(StoreFault::Damaged { what });
        }
        if let Some(what) =
            find_schema_damage(connection, &self.layout.database, self.migrations, newest)?
        {
            return Err(StoreFault::Damaged { what });
        }
        let mut findings = Vec::new();
        verify_tables(view, None, &mut findings);
        // A text that is missing was missing before: that must not keep the state from being used.
        match findings
            .into_iter()
            .find(|finding| finding.kind != StoreFindingKind::TextMissing)
        {
            Some(first) => Err(StoreFault::Damaged {
                what: first.message,
            }),
            None => Ok(()),
        }
    }

    /// Saves a verified copy of the database, with the write lock held, and returns its path.
    fn save_backup(&self, row: &StoreRow, format: i64) -> Result<PathBuf, StoreFault> {
        // Beside the journal: a replica's copy must not take the name of the local state's.
        let folder = parent_folder(&self.layout.journal);
        let copy = folder.join(format!("state-before-format-{}.db", self.newest_format()));
        let cannot_write = |path: &Path| {
            let path = path.to_owned();
            move |error| io_fault("cannot write", &path, error)
        };
        check_free_space(folder, self.database_bytes())?;
        let unfinished = copy.with_extension("db.part");
        match fs::remove_file(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(cannot_write(&unfinished)(error));
            }
            _ => {}
        }
        // VACUUM INTO copies the write-ahead log as well; copying the file would not. It needs a
        // connection without a transaction; the lock of ours keeps the content from changing.
        let reader = open_database_file(
            &self.layout.database,
            &OpenMode::Existing,
            connection::lock_timeout(),
        )?;
        reader
            .execute("VACUUM INTO ?1", [unfinished.to_string_lossy()])
            .map_err(|error| connection::to_fault(&unfinished, error))?;
        drop(reader);
        restrict_permissions(&unfinished);
        self.verify_backup(&unfinished, row, format)?;
        // The copy of an earlier attempt to migrate this history is replaced, another one kept.
        if copy.symlink_metadata().is_ok() && self.verify_backup(&copy, row, format).is_err() {
            quarantine_file(&copy, &self.layout.damaged).map_err(cannot_write(&copy))?;
        }
        fs::File::open(&unfinished)
            .and_then(|file| file.sync_all())
            .and_then(|()| fs::rename(&unfinished, &copy))
            .and_then(|()| sync_folder(folder))
            .map_err(cannot_write(&copy))?;
        Ok(copy)
    }

    /// Checks that a file is a sound database of this format with this `store` row.
    fn verify_backup(&self, path: &Path, row: &StoreRow, format: i64) -> Result<(), StoreFault> {
        let copy = SqliteConnection::new(open_immutable(path)?, path);
        let damaged = |what: String| StoreFault::Damaged { what };
        match migrate::detect_database_kind(&copy.inner, path)? {
            DatabaseKind::Ours { format: found } if found == format => {}
            _ => return Err(damaged("the copy has another format".to_owned())),
        }
        let of_schema = find_schema_damage(&copy.inner, path, self.migrations, format)?;
        if let Some(what) = find_page_damage(&copy.inner).or(of_schema) {
            return Err(damaged(what));
        }
        if read_store_row(&copy, "")? != *row {
            return Err(damaged("the copy is of another state".to_owned()));
        }
        Ok(())
    }

    /// Returns the size of the database and its write-ahead log.
    fn database_bytes(&self) -> u64 {
        let size = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
        let database = &self.layout.database;
        size(database) + size(Path::new(&connection::log_path(database)))
    }
}

/// Refuses an upgrade for which the disk may be too small.
fn check_free_space(folder: &Path, database_bytes: u64) -> Result<(), StoreFault> {
    // Where the file system does not tell, the writes themselves have to.
    let Ok(found) = rustix::fs::statvfs(folder) else {
        return Ok(());
    };
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    match free < database_bytes.saturating_mul(REQUIRED_SPACE_FACTOR) {
        true => Err(StoreFault::Full {
            path: folder.to_owned(),
        }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests;
