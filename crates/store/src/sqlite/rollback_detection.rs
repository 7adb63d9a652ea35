//! Rollback detection: compares the database's history with the head this user saw last. Also the
//! secure erasure of deleted rows.

use domain::ids::StoreId;
use domain::ports::{OperationReader, Store, StoreFault};

use super::{SqliteStore, connection, read_store_row};
use crate::tables::store_row::StoreRow;
use crate::tables::write::TableTransaction;

impl SqliteStore {
    /// Lets `accept` check the store's id, then compares its history with the head this user saw
    /// last.
    pub(crate) fn compare_known_history(
        &self,
        accept: &dyn Fn(&StoreId) -> Result<(), StoreFault>,
    ) -> Result<(), StoreFault> {
        let row = read_store_row(&self.connection, "")?;
        row.check_reader(self.newest_format())?;
        accept(&row.store)?;
        self.upgrade_if_older()?;
        let Some(heads) = &self.settings.heads else {
            return Ok(());
        };
        let compare = |row: StoreRow| {
            let head = (row.head, row.head_hash);
            heads.compare_head(&row.store.clone(), head, &|number| {
                self.view_at(row.clone()).chain_hash(number)
            })
        };
        let mut history = compare(row)?;
        if history.describe_problem().is_some() {
            // After a power failure the journal can be ahead of the database
            // (`synchronous=NORMAL`): replay it before reporting a rolled-back history.
            drop(self.begin_read()?);
            history = compare(read_store_row(&self.connection, "")?)?;
        }
        self.history.set(history);
        Ok(())
    }

    /// Records the head of a committed transaction as known.
    pub(super) fn advance_known_head(&self, transaction: &TableTransaction<'_>) {
        let Some(heads) = &self.settings.heads else {
            return;
        };
        let (found, now) = (&transaction.found, &transaction.view.store);
        let before = (found.head, found.head_hash);
        let chain_hash = |number| self.view_at(now.clone()).chain_hash(number);
        heads.advance_head(&now.store, before, (now.head, now.head_hash), &chain_hash);
    }

    /// Masks secrets in notes, and removes what deleted rows left in free pages and the write-ahead
    /// log.
    pub(crate) fn erase_deleted_rows(&self) -> Result<(), StoreFault> {
        let connection = &self.connection.inner;
        let fault = |error| self.connection.to_fault(error);
        let notes: Vec<(String, String)> = connection
            .prepare("SELECT key, body FROM note")
            .and_then(|mut all| {
                all.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
                    .collect()
            })
            .map_err(fault)?;
        for (key, body) in notes {
            // `Borrowed` means that nothing was masked; such notes are not rewritten.
            if let std::borrow::Cow::Owned(masked) = domain::secrets::mask_secrets(&body) {
                connection
                    .execute("UPDATE note SET body = ?2 WHERE key = ?1", (key, masked))
                    .map_err(fault)?;
            }
        }
        // DELETE only marks pages as free; VACUUM rewrites the file without them, and the
        // checkpoint truncates the log that still has the old pages.
        connection::run_cached_statement(connection, "VACUUM").map_err(fault)?;
        connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .map_err(fault)
    }
}
