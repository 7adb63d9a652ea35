//! Resuming an interrupted replacement: finishes it, reverts it, or cleans up after it.

use domain::ports::{Recovery, StoreFault};
use domain::settings::Storage;
use domain::text::{clean_line, count_with_noun};

use super::staging::staged_layout;
use super::swap::{Swap, SwapNote, may_exist};
use crate::engine::EngineSettings;
use crate::journal::Journal;
use crate::json;
use crate::known_stores::KnownStores;
use crate::layout::Layout;
use crate::quarantine::{ChainHead, QuarantineSet};
use crate::recovery::acquire_rebuild_lock;
use crate::sqlite::SqliteStore;
use crate::store_dump::dump_journal;

/// Finishes or reverts an interrupted replacement, and unseals a state whose replacement never
/// happened.
///
/// # Errors
/// [`StoreFault`] when neither can be done now.
pub fn finish_interrupted_swap(
    layout: &Layout,
    storage: Storage,
    known: Option<&KnownStores>,
) -> Result<Vec<Recovery>, StoreFault> {
    let _lock = acquire_rebuild_lock(layout)?;
    finish_interrupted_locked(layout, storage, known)
}

/// Finishes or reverts an interrupted replacement. The caller holds the rebuild lock.
pub(crate) fn finish_interrupted_locked(
    layout: &Layout,
    storage: Storage,
    known: Option<&KnownStores>,
) -> Result<Vec<Recovery>, StoreFault> {
    let storage = if storage == Storage::Remote {
        Storage::Sqlite
    } else {
        storage
    };
    let told = |message: String| Ok(vec![Recovery { message }]);
    // A seal without a note: killed after the note was removed and before the database was
    // unsealed.
    let Some(note) = SwapNote::read(layout)? else {
        if storage == Storage::Sqlite && unseal_if_sealed(layout)? {
            return told(
                "the state was sealed for a move that did not complete; it is unsealed and in use again"
                    .to_owned(),
            );
        }
        return Ok(Vec::new());
    };
    // An id in another form was not written by us: the note is ignored and removed.
    let Some(set) = QuarantineSet::with_id(layout, &note.quarantine) else {
        SwapNote::remove(layout)?;
        return Ok(Vec::new());
    };
    let swap = Swap {
        layout,
        note: &note,
        set: &set,
    };
    let command = clean_line(&note.command);
    let reverted = || {
        format!("`tl {command}` was interrupted and is reverted: the state is the one before it")
    };
    // A move between engines. The settings of this process decide: changing them was its commit.
    if note.from != note.to {
        if storage == note.to && (note.from != Storage::Sqlite || is_database_out_of_use(layout)) {
            swap.quarantine_moved_files()?;
            return told(format!(
                "`tl {command}` was interrupted and is finished now"
            ));
        }
        if storage == note.from || storage == note.to {
            swap.revert_renames(known)?;
            return told(reverted());
        }
        return Ok(Vec::new());
    }
    if swap.is_installed() {
        swap.remove_swap_traces()?;
        return Ok(Vec::new());
    }
    // JSON files have no seal; only the lock keeps another writer out during the renames.
    let _writers = match note.to {
        Storage::Json => Some(json::acquire_write_lock(
            layout,
            EngineSettings::default().patience,
        )?),
        _ => None,
    };
    if may_finish_swap(layout, &note)
        && swap
            .install_staged(known)
            .and_then(|()| swap.remove_swap_traces())
            .is_ok()
    {
        let operations = usize::try_from(note.new.operation.0).unwrap_or(usize::MAX);
        let operations = count_with_noun(operations, "operation", "operations");
        let mut message =
            format!("`tl {command}` was interrupted and is finished now ({operations})");
        if set.folder().exists() {
            message.push_str(&format!(
                "; the state before it is in {}",
                layout.relative_display(set.folder())
            ));
        }
        return told(message);
    }
    // A failed clean-up after the last rename: the new state counts, never revert it.
    if swap.is_installed() {
        return Ok(Vec::new());
    }
    swap.revert_renames(known)?;
    told(reverted())
}

/// Whether the swap may be finished: the old state was not written to since the note, and the new
/// one is complete.
fn may_finish_swap(layout: &Layout, note: &SwapNote) -> bool {
    let place = if note.to == Storage::Sqlite {
        &layout.database
    } else {
        &layout.journal
    };
    // Not sealed means that work may have gone on in the old state; finishing would discard it.
    let untouched = !may_exist(place)
        || match note.to {
            Storage::Sqlite => is_database_out_of_use(layout),
            _ => {
                dump_journal(&Journal::new(place))
                    .ok()
                    .map(|there| there.chain_head())
                    == note.old
            }
        };
    untouched && is_staged_state_whole(layout, note)
}

/// Whether the staged state is still the one that was verified before the note was written: a disk
/// that ignores `fsync` may have lost it.
fn is_staged_state_whole(layout: &Layout, note: &SwapNote) -> bool {
    let staged = staged_layout(layout);
    // The journal may be renamed already; then only the staged database is left to check.
    let place = if may_exist(&staged.journal) {
        staged.clone()
    } else {
        layout.clone()
    };
    let journal = Journal::new(&place.journal);
    let Ok(Some(size)) = journal.read_size() else {
        return false;
    };
    if !journal
        .ends_with_hash(&note.new.store, size, note.new.hash)
        .unwrap_or(false)
    {
        return false;
    }
    if note.to != Storage::Sqlite {
        return true;
    }
    let place = Layout {
        database: staged.database,
        ..place
    };
    let row = SqliteStore::open(&place, &EngineSettings::default())
        .and_then(|store| store.read_store_row());
    row.is_ok_and(|row| {
        let head = ChainHead {
            store: row.store.clone(),
            operation: row.head,
            hash: row.head_hash,
        };
        // Heads only: every row was verified before the note was written.
        head == note.new && row.journal_size == size
    })
}

/// Whether the database is sealed or missing.
fn is_database_out_of_use(layout: &Layout) -> bool {
    match SqliteStore::open(layout, &EngineSettings::default())
        .and_then(|store| store.read_store_row())
    {
        Ok(row) => row.is_sealed(),
        Err(fault) => matches!(fault, StoreFault::Missing),
    }
}

/// Unseals a database; returns whether it was sealed.
pub(super) fn unseal_if_sealed(layout: &Layout) -> Result<bool, StoreFault> {
    let settings = EngineSettings {
        mirror: false,
        ..EngineSettings::default()
    };
    // If it cannot be opened, the seal is not what keeps it from being used.
    let Ok(store) = SqliteStore::open(layout, &settings) else {
        return Ok(false);
    };
    match store.read_store_row() {
        Ok(row) if row.is_sealed() => store.unseal_state(),
        _ => Ok(false),
    }
}
