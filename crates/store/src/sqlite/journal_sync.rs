//! Reconciliation of journal and database after a crash: the journal's end is replayed, or the
//! journal is rewritten from the database.

use domain::ports::{Clock, StoreFault};

use super::SqliteStore;
use crate::clock::SystemClock;
use crate::engine::{ChainedOperation, io_fault};
use crate::quarantine::{QuarantineManifest, QuarantineReason, quarantine_files};
use crate::tables::store_row::StoreRow;

/// The journal's end compared with the database's head.
pub(super) enum JournalComparison {
    Equal,
    Ahead,
    /// Missing, shorter, or of another hash chain.
    Wrong,
}

impl SqliteStore {
    /// Compares the end of the journal's hash chain with the database's head.
    pub(super) fn compare_journal(&self, row: &StoreRow) -> Result<JournalComparison, StoreFault> {
        let unreadable = |error| io_fault("cannot read", self.journal.path(), error);
        let Some(mark) = self.journal.read_stamp().map_err(unreadable)? else {
            return Ok(JournalComparison::Wrong);
        };
        // Servers compare at every request; an unchanged file at the same head is not read again.
        if self.compared.get() == Some((mark, row.head_hash)) {
            return Ok(JournalComparison::Equal);
        }
        let same_chain = mark.size >= row.journal_size
            && self
                .journal
                .ends_with_hash(&row.store, row.journal_size, row.head_hash)
                .map_err(unreadable)?;
        Ok(match same_chain {
            false => JournalComparison::Wrong,
            true if mark.size == row.journal_size => {
                self.compared.set(Some((mark, row.head_hash)));
                JournalComparison::Equal
            }
            true => JournalComparison::Ahead,
        })
    }

    /// Reconciles journal and database. Only called with the write lock held: otherwise another
    /// process may be between its append and its commit.
    pub(super) fn reconcile_journal(&self, row: StoreRow) -> Result<StoreRow, StoreFault> {
        match self.compare_journal(&row)? {
            JournalComparison::Equal => Ok(row),
            JournalComparison::Ahead => self.replay_journal_end(row),
            JournalComparison::Wrong => self.rewrite_journal(row),
        }
    }

    /// Replays the end of a journal that is ahead: a process died between append and commit. Its
    /// operation is durable and was decided on exactly this state, so it is applied; a torn last
    /// line was never acknowledged and is cut off.
    fn replay_journal_end(&self, row: StoreRow) -> Result<StoreRow, StoreFault> {
        let ahead = self
            .journal
            .read_entries_from(row.journal_size, Some(row.head_hash))
            .map_err(|error| io_fault("cannot read", self.journal.path(), error))?;
        if let Some(damage) = ahead.damage.as_ref().filter(|damage| !damage.torn) {
            return Err(StoreFault::Damaged {
                what: format!("cannot read the end of the journal: {}", damage.what),
            });
        }
        let mut transaction = self.transaction_at(row);
        for entry in &ahead.entries {
            transaction.apply_recorded(entry)?;
        }
        if ahead.damage.is_some() {
            self.journal
                .truncate_to(ahead.good_size)
                .map_err(|error| io_fault("cannot cut", self.journal.path(), error))?;
        }
        self.finish_transaction(&mut transaction, ahead.good_size)?;
        drop(transaction);
        if !ahead.entries.is_empty() {
            self.report_recovery(format!(
                "an interrupted process had written {} to the journal but not to the database: recovered",
                domain::text::count_with_noun(ahead.entries.len(), "operation", "operations")
            ));
        }
        self.begin_transaction("BEGIN IMMEDIATE")
    }

    /// Rewrites a journal that is missing, too short or of another chain: the database has every
    /// operation, so the journal is written from it and the old file quarantined.
    pub(super) fn rewrite_journal(&self, row: StoreRow) -> Result<StoreRow, StoreFault> {
        self.journal.check_format_version()?;
        // Everything is loaded and verified before the old file is touched: if the database is
        // damaged too, the journal may be all that is left.
        let entries = self.view_at(row.clone()).load_all_entries()?;
        let lines = entries
            .iter()
            .map(ChainedOperation::to_journal_line)
            .collect::<Result<Vec<_>, _>>()?;
        let why = "the journal was damaged or did not belong to the database";
        let manifest =
            QuarantineManifest::new(SystemClock.now(), QuarantineReason::Damaged, why, None);
        let quarantined =
            quarantine_files(&self.layout, &manifest, [self.journal.path().to_owned()])?;
        let size = self
            .journal
            .write_new_journal(&row.store, &lines)
            .map_err(|error| io_fault("cannot write", self.journal.path(), error))?;
        let mut transaction = self.transaction_at(row);
        self.finish_transaction(&mut transaction, size)?;
        drop(transaction);
        let operations = domain::text::count_with_noun(lines.len(), "operation", "operations");
        self.report_recovery(match quarantined {
            Some(folder) => format!(
                "the journal was damaged: quarantined in {folder}, written again from the database ({operations})"
            ),
            None => format!("the journal was missing: written again from the database ({operations})"),
        });
        self.begin_transaction("BEGIN IMMEDIATE")
    }
}
