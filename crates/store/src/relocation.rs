//! `tl state move`: migrates the state to another engine. The settings select the engine, so changing
//! them is the commit point.
//!
//! The copy is built and verified, then a recovery note is written, the old state is sealed, the
//! settings are changed and the old files are quarantined. A process that finds the note acts by
//! the settings it was started with: the old engine's revert the move, the new engine's finish it.

use std::fs;

use domain::ports::StoreFault;
use domain::settings::Storage;
use domain::time::Timestamp;

use crate::engine::{EngineSettings, io_fault};
use crate::journal::Journal;
use crate::json;
use crate::known_stores::KnownStores;
use crate::layout::Layout;
use crate::postgres::PostgresStore;
use crate::quarantine::{QuarantineManifest, QuarantineReason, QuarantineSet, clear_moved_marks};
use crate::recovery::acquire_rebuild_lock;
use crate::replacement::{
    Swap, SwapNote, build_staged_state, finish_interrupted_locked, may_exist, remove_staging_folder,
};
use crate::sqlite::SqliteStore;
use crate::store_dump::{StoreDump, dump_journal, dump_store, verify_built_state};
use crate::tables::access::AccessContents;
use crate::tables::store_row::StoreRow;

/// A project's state in one engine.
#[derive(Clone, Copy)]
pub struct StateLocation<'p> {
    pub layout: &'p Layout,
    pub storage: Storage,
}

/// Error of a move.
#[derive(Debug)]
pub enum RelocationFault {
    Store(StoreFault),
    /// The destination holds another state.
    Occupied,
}

impl From<StoreFault> for RelocationFault {
    fn from(fault: StoreFault) -> Self {
        Self::Store(fault)
    }
}

/// A prepared move: the copy is built and verified, the original is locked against writers.
pub struct Relocation<'p> {
    from: StateLocation<'p>,
    to: StateLocation<'p>,
    held: HeldState,
    cargo: StoreDump,
    _lock: fs::File,
}

/// The original, with its write lock.
enum HeldState {
    Sqlite(Box<SqliteStore>, StoreRow),
    Postgres(Box<PostgresStore>, StoreRow),
    Json(fs::File),
}

impl HeldState {
    /// Locks the state and dumps it.
    fn hold_state(from: StateLocation<'_>) -> Result<(Self, StoreDump), StoreFault> {
        let settings = EngineSettings::default();
        match from.storage {
            Storage::Sqlite | Storage::Remote => {
                let store = SqliteStore::open(from.layout, &settings)?;
                let (row, recorded) = store.lock_and_load()?;
                let cargo = StoreDump::new(row.store.clone(), recorded);
                Ok((Self::Sqlite(Box::new(store), row), cargo))
            }
            Storage::Postgres => {
                let store = PostgresStore::open(from.layout, &settings)?;
                let (row, recorded) = store.lock_and_load()?;
                let cargo = StoreDump::new(row.store.clone(), recorded);
                Ok((Self::Postgres(Box::new(store), row), cargo))
            }
            Storage::Json => {
                let lock = json::acquire_write_lock(from.layout, settings.patience)?;
                Ok((
                    Self::Json(lock),
                    dump_journal(&Journal::new(&from.layout.journal))?,
                ))
            }
        }
    }

    /// Seals the state: processes that have it open get [`StoreFault::Moved`]. Returns the JSON
    /// engine's lock, which stays held because its files cannot be sealed.
    fn seal_state(self) -> Result<Option<fs::File>, StoreFault> {
        match self {
            Self::Sqlite(store, row) => store.seal_state(row).map(|()| None),
            Self::Postgres(store, row) => store.seal_state(row).map(|()| None),
            Self::Json(lock) => Ok(Some(lock)),
        }
    }
}

impl<'p> Relocation<'p> {
    /// Locks a state, copies it to another engine and verifies the copy. Nothing visible changes
    /// yet.
    ///
    /// # Errors
    /// [`RelocationFault`].
    pub fn prepare_move(
        from: StateLocation<'p>,
        to: StateLocation<'p>,
        known: &KnownStores,
    ) -> Result<Self, RelocationFault> {
        let lock = acquire_rebuild_lock(from.layout)?;
        finish_interrupted_locked(from.layout, from.storage, Some(known))?;
        // Locked from here to the commit: an operation recorded in between would be missing in the
        // copy.
        let (held, cargo) = HeldState::hold_state(from)?;
        match (from.storage, to.storage) {
            (_, Storage::Postgres) => {
                if !PostgresStore::create_project(to.layout, &cargo.store, &cargo.recorded)? {
                    clear_shared_destination(to, &cargo)?;
                }
                verify_built_state(to.layout, to.storage, &cargo)?;
            }
            // SQLite and JSON share the journal, which is already the new state.
            (Storage::Sqlite, Storage::Json) => verify_built_state(to.layout, to.storage, &cargo)?,
            _ => {
                let with_journal = from.storage != Storage::Json;
                refuse_occupied_destination(to, &cargo, with_journal)?;
                let built = build_staged_state(
                    to.layout,
                    to.storage,
                    &cargo,
                    &AccessContents::default(),
                    with_journal,
                );
                built.inspect_err(|_| remove_staging_folder(to.layout))?;
            }
        }
        Ok(Self {
            from,
            to,
            held,
            cargo,
            _lock: lock,
        })
    }

    /// Returns the dump of the moved state.
    #[must_use]
    pub fn dump(&self) -> &StoreDump {
        &self.cargo
    }

    /// Commits the move: `change_settings` points the project's settings to the copy, or changes
    /// nothing. Returns where the original is.
    ///
    /// # Errors
    /// Those of `change_settings`, or a [`StoreFault`]; the state then stays where it was.
    pub fn commit_move<E: From<StoreFault>>(
        self,
        what: &str,
        now: Timestamp,
        change_settings: impl FnOnce() -> Result<(), E>,
    ) -> Result<Vec<String>, E> {
        let Self {
            from,
            to,
            held,
            cargo,
            _lock,
        } = self;
        let head = Some(cargo.chain_head());
        let moved_to = Some(to.storage);
        let manifest = QuarantineManifest {
            moved_to,
            ..QuarantineManifest::new(now, QuarantineReason::Moved, what, head)
        };
        // Before the note, which refers to the set by its id.
        let set = QuarantineSet::create_set(from.layout, &manifest)
            .inspect_err(|_| remove_staging_folder(from.layout))?;
        let note = SwapNote {
            format: 1,
            command: "move".to_owned(),
            at: now,
            from: from.storage,
            to: to.storage,
            quarantine: set.id.clone(),
            old: Some(cargo.chain_head()),
            new: cargo.chain_head(),
        };
        if let Err(fault) = note.write(from.layout) {
            set.remove_if_empty();
            remove_staging_folder(from.layout);
            return Err(fault.into());
        }
        let swap = Swap {
            layout: from.layout,
            note: &note,
            set: &set,
        };
        // In a shared database the copy is already in place, and for the JSON engine the journal is
        // the new state.
        let builds = to.storage == Storage::Sqlite
            || (from.storage == Storage::Postgres && to.storage != Storage::Postgres);
        let installed = if builds {
            swap.install_staged(None)
        } else {
            Ok(())
        };
        // Sealed before the settings change: otherwise a process with the old settings could still
        // commit to the original.
        let writers = match installed.and_then(|()| held.seal_state()) {
            Ok(writers) => writers,
            Err(fault) => return Err(swap.revert_after_fault(None, fault).into()),
        };
        if let Err(error) = change_settings() {
            // Best effort: the note remains, and the next command reverts the rest.
            let _ = swap.revert_renames(None);
            return Err(error);
        }
        if to.storage != Storage::Postgres {
            clear_moved_marks(to.layout);
        }
        // The move is committed. A failed clean-up is finished by the next command that finds the
        // note.
        let _ = swap.quarantine_moved_files();
        drop(writers);
        if to.storage == Storage::Json {
            // Best effort, like the clean-up above.
            let _ = json::note_built_state(to.layout, now);
        }
        let mut kept: Vec<String> = set
            .folder()
            .exists()
            .then(|| from.layout.relative_display(set.folder()))
            .into_iter()
            .collect();
        if from.storage == Storage::Postgres {
            kept.extend(
                PostgresStore::quarantine_project(from.layout, &now.to_string())
                    .ok()
                    .flatten(),
            );
        }
        Ok(kept)
    }
}

/// Clears the destination in a shared database, if it holds this state or an older copy that an
/// interrupted move left there.
fn clear_shared_destination(
    to: StateLocation<'_>,
    cargo: &StoreDump,
) -> Result<(), RelocationFault> {
    let there = match dump_store(to.layout, to.storage) {
        // It was moved away from there, and the move was interrupted before it was renamed.
        Err(StoreFault::Moved) => None,
        Err(StoreFault::AnotherProject { .. }) => return Err(RelocationFault::Occupied),
        there => Some(there?),
    };
    if there
        .as_ref()
        .is_some_and(|there| there.is_same_history(cargo))
    {
        return Ok(());
    }
    // Anything that is not a prefix of our history has operations that would be lost.
    if there.is_some_and(|there| !cargo.starts_with(&there)) {
        return Err(RelocationFault::Occupied);
    }
    let now = domain::ports::Clock::now(&crate::clock::SystemClock);
    PostgresStore::quarantine_project(to.layout, &now.to_string())?;
    match PostgresStore::create_project(to.layout, &cargo.store, &cargo.recorded)? {
        true => Ok(()),
        false => Err(StoreFault::Locked { holder: None }.into()),
    }
}

/// Refuses a local destination that holds another state. A copy of ours, or a damaged state, is
/// quarantined by the swap.
fn refuse_occupied_destination(
    to: StateLocation<'_>,
    cargo: &StoreDump,
    with_journal: bool,
) -> Result<(), RelocationFault> {
    let layout = to.layout;
    crate::private_files::create_private_directory(&layout.home)
        .map_err(|error| io_fault("cannot create", &layout.home, error))?;
    let has_journal = with_journal && may_exist(&layout.journal);
    if !has_journal && !may_exist(&layout.database) {
        return Ok(());
    }
    let there = match to.storage {
        Storage::Json => dump_journal(&Journal::new(&layout.journal)),
        _ => dump_store(layout, to.storage),
    };
    match there {
        Ok(there) if cargo.starts_with(&there) => Ok(()),
        Ok(_) => Err(RelocationFault::Occupied),
        Err(StoreFault::Missing | StoreFault::Moved | StoreFault::Damaged { .. }) => Ok(()),
        Err(fault) => Err(fault.into()),
    }
}
