//! Atomic replacement of a project's state: build beside, verify, seal, swap by renames, with a synced recovery note.
//!
//! The new state is built in `replacing/` and verified before anything else happens, so that a full disk changes nothing.
//! Then the note `replacing.json` is written, the old state is sealed, and files are renamed: the old ones into
//! quarantine, the new ones into their place, the database last. A process that finds the state missing or sealed takes
//! the rebuild lock and, if there is a note, finishes the swap or reverts it. The normal path never looks for the note.
//!
//! The commit point is the seal: until then the old state may be in use, and a note found later only means cleaning up.

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

pub use self::interrupted::finish_interrupted;
pub(crate) use self::interrupted::finish_locked;
pub(crate) use self::staging::{build_staged, remove_staging, staged};
pub(crate) use self::swap::{DATABASE_ENDINGS, Note, Swap, exists, with_ending};
use crate::engine::{EngineSettings, io_fault};
use crate::journal::Journal;
use crate::json;
use crate::known_heads::KnownHeads;
use crate::known_stores::KnownStores;
use crate::layout::Layout;
use crate::mirror::Mirror;
use crate::postgres::PostgresStore;
use crate::quarantine::{ChainHead, Manifest, QuarantineReason, QuarantineSet, forget_moves};
use crate::recovery::{book_contents, rebuild_lock};
use crate::sqlite::SqliteStore;
use crate::tables::access::BookContents;
use crate::tables::view::StoreRow;
use crate::transfer::{Cargo, load_journal};

/// The command of a replacement that no person asked for.
pub(crate) const RECOVERY: &str = "recovery";

/// Which command replaces the state, and why.
#[derive(Clone, Debug)]
pub struct ReplacementCause<'o> {
    /// As a person would type it: `restore-backup`.
    pub command: &'o str,
    pub reason: QuarantineReason,
    pub why: String,
    pub now: Timestamp,
}

/// Puts a state in the place of the present one, which goes into quarantine; returns where it is now.
///
/// # Errors
/// [`StoreFault`]; the present state is then as it was, unless the message says that the next command finishes it.
/// [`StoreFault::Newer`] when a newer program wrote the present state: nothing is touched.
pub fn replace_state(
    layout: &Layout,
    storage: Storage,
    known: &KnownStores,
    cargo: &Cargo,
    cause: &ReplacementCause<'_>,
) -> Result<Vec<String>, StoreFault> {
    crate::private::create_directory(&layout.home)
        .map_err(|error| io_fault("cannot make", &layout.home, error))?;
    let _lock = rebuild_lock(layout)?;
    finish_locked(layout, storage, Some(known))?;
    // Whoever was let in stays let in: tokens are no part of what is replaced.
    let book = book_contents(layout, storage, |id| known.knows(id));
    if storage == Storage::Postgres {
        known
            .remember(&cargo.store, &layout.root)
            .map_err(|error| io_fault("cannot write in", known.folder(), error))?;
        // Before, because nothing here can be part of that database's transaction; needlessly stale costs a synchronisation.
        Mirror::new(&layout.mirror).mark_stale();
        let kept_as = PostgresStore::replace(layout, cargo, &book, &cause.now.to_string())?;
        make_head_known(layout, Some(known), &cargo.chain_head());
        return Ok(kept_as.into_iter().collect());
    }
    replace_locked(layout, storage, Some(known), cargo, &book, cause)
}

/// The same for one machine's engines, while the rebuild lock is held.
pub(crate) fn replace_locked(
    layout: &Layout,
    storage: Storage,
    known: Option<&KnownStores>,
    cargo: &Cargo,
    book: &BookContents,
    cause: &ReplacementCause<'_>,
) -> Result<Vec<String>, StoreFault> {
    refuse_newer(layout)?;
    build_staged(layout, storage, cargo, book, true).inspect_err(|_| remove_staging(layout))?;
    let swapped = swap(layout, storage, known, cargo, cause);
    // With a note it is the next command's.
    if swapped.is_err() && !Note::exists(layout) {
        remove_staging(layout);
    }
    swapped
}

fn swap(
    layout: &Layout,
    storage: Storage,
    known: Option<&KnownStores>,
    cargo: &Cargo,
    cause: &ReplacementCause<'_>,
) -> Result<Vec<String>, StoreFault> {
    let old = OldState::hold(layout, storage)?;
    // A backup of another project counts from here on as this user's.
    if let Some(known) = known.filter(|known| !known.knows(&cargo.store)) {
        let remembered = known.remember(&cargo.store, &layout.root);
        remembered.map_err(|error| io_fault("cannot write in", known.folder(), error))?;
    }
    let head = old.head(layout);
    let ReplacementCause {
        command,
        reason,
        why,
        now,
    } = cause;
    let manifest = Manifest::new(*now, *reason, why, head.clone());
    let set = QuarantineSet::create(layout, &manifest)?;
    let note = Note {
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
        set.remove_if_unused();
        return Err(fault);
    }
    let swap = Swap {
        layout,
        note: &note,
        set: &set,
    };
    let done = old
        .seal()
        .and_then(|_held| swap.install(known).and_then(|()| swap.clean_up()));
    match done {
        Ok(()) => {}
        // It is done; only the note and its traces are left, for the next command that looks.
        Err(_) if swap.is_installed() => {}
        Err(fault) => return Err(swap.give_up(known, fault)),
    }
    forget_moves(layout);
    let quarantined = set.folder().exists().then(|| layout.relative(set.folder()));
    Ok(quarantined.into_iter().collect())
}

/// The state that is replaced, held so that nobody else changes it.
enum OldState {
    Sqlite(Box<SqliteStore>, StoreRow),
    Json(fs::File),
    /// Missing or damaged: nobody can write it.
    Unusable,
}

impl OldState {
    fn hold(layout: &Layout, storage: Storage) -> Result<Self, StoreFault> {
        let settings = EngineSettings {
            mirror: false,
            ..EngineSettings::default()
        };
        if storage == Storage::Json {
            return Ok(Self::Json(json::write_lock(layout, settings.patience)?));
        }
        let held = SqliteStore::open(layout, &settings).and_then(|store| {
            let row = store.hold_for_replacement()?;
            Ok(Self::Sqlite(Box::new(store), row))
        });
        match held {
            Err(StoreFault::Missing | StoreFault::Damaged { .. }) => Ok(Self::Unusable),
            other => other,
        }
    }

    fn head(&self, layout: &Layout) -> Option<ChainHead> {
        match self {
            Self::Sqlite(_, row) => Some(ChainHead {
                store: row.store.clone(),
                operation: row.head,
                hash: row.head_hash,
            }),
            Self::Json(_) => load_journal(&Journal::at(&layout.journal))
                .ok()
                .map(|there| there.chain_head()),
            Self::Unusable => None,
        }
    }

    /// Ends every use of it; the JSON engine's lock is held on.
    fn seal(self) -> Result<Option<fs::File>, StoreFault> {
        match self {
            Self::Sqlite(store, row) => match store.seal(row) {
                // What is damaged where the seal belongs cannot be used by others either.
                Err(StoreFault::Damaged { .. }) => Ok(None),
                sealed => sealed.map(|()| None),
            },
            Self::Json(lock) => Ok(Some(lock)),
            Self::Unusable => Ok(None),
        }
    }
}

/// Refuses to replace what a newer program wrote.
pub(crate) fn refuse_newer(layout: &Layout) -> Result<(), StoreFault> {
    Journal::at(&layout.journal).check_format()?;
    match SqliteStore::open(layout, &EngineSettings::default()).and_then(|store| store.row()) {
        Ok(row) if !row.is_sealed() => row.check_writer(SqliteStore::FORMAT),
        Err(fault @ (StoreFault::Newer { .. } | StoreFault::AnotherProgram { .. })) => Err(fault),
        _ => Ok(()),
    }
}

/// Makes the end of a replaced hash chain known wherever the former one is remembered.
///
/// Called when the outcome is decided and before the last rename, so that a kill never leaves the new state with a memory of
/// the old one; with the old head when a replacement is reverted. The mirror is marked stale: the numbers of its operations
/// may mean other ones now.
pub(crate) fn make_head_known(layout: &Layout, known: Option<&KnownStores>, head: &ChainHead) {
    Mirror::new(&layout.mirror).mark_stale();
    if let Some(heads) = known.and_then(|known| known_heads(layout, known)) {
        // What cannot be written is reported as another history when the state is next opened.
        let _ = heads.record_head(&head.store, head.operation, head.hash);
    }
}

/// Takes back what [`make_head_known`] said of a replacement that is reverted, where it came to that.
pub(crate) fn forget_new_head(
    layout: &Layout,
    known: Option<&KnownStores>,
    new: &ChainHead,
    old: &ChainHead,
) {
    Mirror::new(&layout.mirror).mark_stale();
    if let Some(heads) = known
        .and_then(|known| known_heads(layout, known))
        .filter(|_| new.store == old.store)
    {
        heads.exchange_head(
            &new.store,
            (new.operation, new.hash),
            (old.operation, old.hash),
        );
    }
}

fn known_heads(layout: &Layout, known: &KnownStores) -> Option<KnownHeads> {
    let heads = KnownHeads::in_directory(known.folder().parent()?);
    Some(if layout.shared.is_some() {
        heads
    } else {
        heads.at(&layout.root)
    })
}
