//! Atomic replacement of a project's state: build beside it, verify, seal, swap by renames, with a
//! synced recovery note.
//!
//! The new state is built in `replacing/` and verified before anything else happens, so that a full
//! disk changes nothing. Then the note `replacing.json` is written, the old state is sealed, and
//! files are renamed: the old ones into quarantine, the new ones into their place, the database
//! last. A process that finds the state missing or sealed acquires the rebuild lock and, if there
//! is a note, finishes the swap or reverts it. With SQLite the normal path never checks for the
//! note.
//!
//! The commit point is the seal. Until then the old state may be in use, and a note found later is
//! only cleaned up.

mod interrupted;
mod staging;
mod swap;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing test may panic")]
mod tests;

use std::fs;

use domain::ports::StoreFault;
use domain::settings::Storage;
use domain::time::Timestamp;

pub(crate) use self::interrupted::finish_interrupted_locked;
pub use self::interrupted::finish_interrupted_swap;
pub(crate) use self::staging::{build_staged_state, remove_staging_folder, staged_layout};
pub(crate) use self::swap::{DATABASE_SUFFIXES, Swap, SwapNote, may_exist, with_suffix};
use crate::engine::{EngineSettings, io_fault};
use crate::journal::Journal;
use crate::json;
use crate::known_heads::KnownHeads;
use crate::known_stores::KnownStores;
use crate::layout::Layout;
use crate::mirror::Mirror;
use crate::postgres::PostgresStore;
use crate::quarantine::{
    ChainHead, QuarantineManifest, QuarantineReason, QuarantineSet, clear_moved_marks,
};
use crate::recovery::{acquire_rebuild_lock, read_token_store};
use crate::sqlite::SqliteStore;
use crate::store_dump::{StoreDump, dump_journal};
use crate::tables::access::AccessContents;
use crate::tables::store_row::StoreRow;

/// Command name of an automatic recovery.
pub(crate) const RECOVERY_COMMAND: &str = "recovery";

/// The command that replaces the state, and why.
#[derive(Clone, Debug)]
pub struct ReplacementCause<'o> {
    /// As typed by a user: `state restore`.
    pub command: &'o str,
    pub reason: QuarantineReason,
    pub why: String,
    pub now: Timestamp,
}

/// Replaces the present state, which is quarantined; returns where it is now.
///
/// # Errors
/// [`StoreFault`]; the present state is then unchanged, unless the message says that the next
/// command finishes it. [`StoreFault::Newer`] when a newer program wrote the present state: nothing
/// is touched.
pub fn replace_state(
    layout: &Layout,
    storage: Storage,
    known: &KnownStores,
    cargo: &StoreDump,
    cause: &ReplacementCause<'_>,
) -> Result<Vec<String>, StoreFault> {
    crate::private_files::create_private_directory(&layout.home)
        .map_err(|error| io_fault("cannot create", &layout.home, error))?;
    let _lock = acquire_rebuild_lock(layout)?;
    finish_interrupted_locked(layout, storage, Some(known))?;
    // API tokens survive a restore: they are not part of the history, and replacing it must not
    // lock users out.
    let book = read_token_store(layout, storage, |id| known.is_known(id));
    if storage == Storage::Postgres {
        known
            .remember_store(&cargo.store, &layout.root)
            .map_err(|error| io_fault("cannot write in", known.folder(), error))?;
        // Before the commit, because local files cannot be part of the database's transaction. A
        // mirror marked stale without need costs one synchronisation; the other order could leave
        // one that is silently wrong.
        Mirror::new(&layout.mirror).mark_stale();
        let kept_as =
            PostgresStore::replace_project_state(layout, cargo, &book, &cause.now.to_string())?;
        // Committed in the database: if this fails, the new history is reported until a person
        // accepts it.
        let _ = record_known_head(layout, Some(known), &cargo.chain_head());
        return Ok(kept_as.into_iter().collect());
    }
    replace_state_locked(layout, storage, Some(known), cargo, &book, cause)
}

/// Replaces the state of a local engine. The caller holds the rebuild lock.
pub(crate) fn replace_state_locked(
    layout: &Layout,
    storage: Storage,
    known: Option<&KnownStores>,
    cargo: &StoreDump,
    book: &AccessContents,
    cause: &ReplacementCause<'_>,
) -> Result<Vec<String>, StoreFault> {
    refuse_newer_state(layout)?;
    build_staged_state(layout, storage, cargo, book, true)
        .inspect_err(|_| remove_staging_folder(layout))?;
    let swapped = swap_state(layout, storage, known, cargo, cause);
    // With a note the staged files are still needed: the next command finishes or reverts.
    if swapped.is_err() && !SwapNote::exists(layout) {
        remove_staging_folder(layout);
    }
    swapped
}

fn swap_state(
    layout: &Layout,
    storage: Storage,
    known: Option<&KnownStores>,
    cargo: &StoreDump,
    cause: &ReplacementCause<'_>,
) -> Result<Vec<String>, StoreFault> {
    let old = OldState::hold_state(layout, storage)?;
    // Restoring another project's backup is a person's decision, so its store is trusted from now
    // on. Before the note, because the process that finishes the swap must find it trusted.
    if let Some(known) = known.filter(|known| !known.is_known(&cargo.store)) {
        let remembered = known.remember_store(&cargo.store, &layout.root);
        remembered.map_err(|error| io_fault("cannot write in", known.folder(), error))?;
    }
    let head = old.chain_head(layout);
    let ReplacementCause {
        command,
        reason,
        why,
        now,
    } = cause;
    let manifest = QuarantineManifest::new(*now, *reason, why, head.clone());
    // Order matters: set, note, seal, renames. Each step can be undone by what the ones before it
    // left.
    let set = QuarantineSet::create_set(layout, &manifest)?;
    let note = SwapNote {
        format: 1,
        command: (*command).to_owned(),
        at: *now,
        from: storage,
        to: storage,
        quarantine: set.id.clone(),
        old: head,
        new: cargo.chain_head(),
    };
    if let Err(fault) = note.write(layout) {
        set.remove_if_empty();
        return Err(fault);
    }
    let swap = Swap {
        layout,
        note: &note,
        set: &set,
    };
    let done = old.seal_state().and_then(|_held| {
        swap.install_staged(known)
            .and_then(|()| swap.remove_swap_traces())
    });
    match done {
        Ok(()) => {}
        // Installed; only the clean-up failed, and the next command that finds the note repeats it.
        Err(_) if swap.is_installed() => {}
        Err(fault) => return Err(swap.revert_after_fault(known, fault)),
    }
    clear_moved_marks(layout);
    if storage == Storage::Json {
        // Best effort: the state is replaced, whether its notes can be written or not.
        let _ = json::note_built_state(layout, *now);
    }
    let quarantined = set
        .folder()
        .exists()
        .then(|| layout.relative_display(set.folder()));
    Ok(quarantined.into_iter().collect())
}

/// The state that is replaced, locked against other writers.
enum OldState {
    Sqlite(Box<SqliteStore>, StoreRow),
    Json(fs::File),
    /// Missing or damaged, so that no process can write it.
    Unusable,
}

impl OldState {
    /// Locks the present state.
    fn hold_state(layout: &Layout, storage: Storage) -> Result<Self, StoreFault> {
        let settings = EngineSettings {
            mirror: false,
            ..EngineSettings::default()
        };
        if storage == Storage::Json {
            return Ok(Self::Json(json::acquire_write_lock(
                layout,
                settings.patience,
            )?));
        }
        let held = SqliteStore::open(layout, &settings).and_then(|store| {
            let row = store.lock_for_replacement()?;
            Ok(Self::Sqlite(Box::new(store), row))
        });
        match held {
            // These are reasons to replace it. A locked or newer state is not, and stays an error.
            Err(StoreFault::Missing | StoreFault::Damaged { .. }) => Ok(Self::Unusable),
            other => other,
        }
    }

    /// Returns the head of its hash chain; `None` if it is unusable.
    fn chain_head(&self, layout: &Layout) -> Option<ChainHead> {
        match self {
            Self::Sqlite(_, row) => Some(ChainHead {
                store: row.store.clone(),
                operation: row.head,
                hash: row.head_hash,
            }),
            Self::Json(_) => dump_journal(&Journal::new(&layout.journal))
                .ok()
                .map(|there| there.chain_head()),
            Self::Unusable => None,
        }
    }

    /// Seals it, so that no open process writes to it any more. Returns the JSON engine's lock,
    /// which stays held.
    fn seal_state(self) -> Result<Option<fs::File>, StoreFault> {
        match self {
            Self::Sqlite(store, row) => match store.seal_state(row) {
                // If the row that takes the seal is damaged, other processes cannot use the state
                // either.
                Err(StoreFault::Damaged { .. }) => Ok(None),
                sealed => sealed.map(|()| None),
            },
            Self::Json(lock) => Ok(Some(lock)),
            Self::Unusable => Ok(None),
        }
    }
}

/// Refuses to replace a state that a newer program wrote.
pub(crate) fn refuse_newer_state(layout: &Layout) -> Result<(), StoreFault> {
    Journal::new(&layout.journal).check_format_version()?;
    match SqliteStore::open(layout, &EngineSettings::default())
        .and_then(|store| store.read_store_row())
    {
        // A sealed state is out of use, whatever wrote it.
        Ok(row) if !row.is_sealed() => row.check_writer(SqliteStore::FORMAT),
        Err(fault @ (StoreFault::Newer { .. } | StoreFault::AnotherProgram { .. })) => Err(fault),
        _ => Ok(()),
    }
}

/// Records the head of the new hash chain wherever the former one is recorded.
///
/// Called when the outcome is decided and before the last rename, so that a kill never leaves the
/// new state with the old known head, which would be reported as a rollback. The mirror is marked
/// stale: its operation ids may mean other operations now.
///
/// # Errors
/// [`StoreFault`] when another head stays known: every later command would report a rollback.
pub(crate) fn record_known_head(
    layout: &Layout,
    known: Option<&KnownStores>,
    head: &ChainHead,
) -> Result<(), StoreFault> {
    Mirror::new(&layout.mirror).mark_stale();
    let Some(heads) = known.and_then(|known| known_heads_for(layout, known)) else {
        return Ok(());
    };
    match heads.record_head(&head.store, head.operation, head.hash) {
        // In a directory that was never writable no head is known, so nothing is reported later.
        Err(error) if heads.knows_head(&head.store) => {
            Err(io_fault("cannot write in", heads.folder(), error))
        }
        _ => Ok(()),
    }
}

/// Reverts [`record_known_head`] for a replacement that is reverted, if it got that far.
pub(crate) fn revert_known_head(
    layout: &Layout,
    known: Option<&KnownStores>,
    new: &ChainHead,
    old: &ChainHead,
) {
    Mirror::new(&layout.mirror).mark_stale();
    if let Some(heads) = known
        .and_then(|known| known_heads_for(layout, known))
        .filter(|_| new.store == old.store)
    {
        // Compare-and-swap: if the new head was never recorded, the known one must stay.
        heads.compare_and_swap_head(
            &new.store,
            (new.operation, new.hash),
            (old.operation, old.hash),
        );
    }
}

/// Returns the user's known heads for this project.
fn known_heads_for(layout: &Layout, known: &KnownStores) -> Option<KnownHeads> {
    let heads = KnownHeads::in_state_directory(known.folder().parent()?);
    // A shared state has one history for all working copies, a local one a history each.
    Some(if layout.shared.is_some() {
        heads
    } else {
        heads.for_working_copy(&layout.root)
    })
}
