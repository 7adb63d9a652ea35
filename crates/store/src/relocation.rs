//! `tl move`: migrates the state to another engine. The settings select the engine, so changing
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
use crate::quarantine::{Manifest, QuarantineReason, QuarantineSet, forget_moves};
use crate::recovery::rebuild_lock;
use crate::replacement::{Note, Swap, build_staged, exists, finish_locked, remove_staging};
use crate::sqlite::SqliteStore;
use crate::tables::access::BookContents;
use crate::tables::view::StoreRow;
use crate::transfer::{Cargo, load, load_journal, verify_built};

/// A project's state in one engine.
#[derive(Clone, Copy)]
pub struct Place<'p> {
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
    from: Place<'p>,
    to: Place<'p>,
    held: Held,
    cargo: Cargo,
    _lock: fs::File,
}

/// The original, with its write lock.
enum Held {
    Sqlite(Box<SqliteStore>, StoreRow),
    Postgres(Box<PostgresStore>, StoreRow),
    Json(fs::File),
}

impl Held {
    /// Locks the state and dumps it.
    fn take(from: Place<'_>) -> Result<(Self, Cargo), StoreFault> {
        let settings = EngineSettings::default();
        match from.storage {
            Storage::Sqlite | Storage::Remote => {
                let store = SqliteStore::open(from.layout, &settings)?;
                let (row, recorded) = store.hold()?;
                let cargo = Cargo::new(row.store.clone(), recorded);
                Ok((Self::Sqlite(Box::new(store), row), cargo))
            }
            Storage::Postgres => {
                let store = PostgresStore::open(from.layout, &settings)?;
                let (row, recorded) = store.hold()?;
                let cargo = Cargo::new(row.store.clone(), recorded);
                Ok((Self::Postgres(Box::new(store), row), cargo))
            }
            Storage::Json => {
                let lock = json::write_lock(from.layout, settings.patience)?;
                Ok((
                    Self::Json(lock),
                    load_journal(&Journal::at(&from.layout.journal))?,
                ))
            }
        }
    }

    /// Seals the state: processes that have it open get [`StoreFault::Moved`]. Returns the JSON
    /// engine's lock, which stays held because its files cannot be sealed.
    fn seal(self) -> Result<Option<fs::File>, StoreFault> {
        match self {
            Self::Sqlite(store, row) => store.seal(row).map(|()| None),
            Self::Postgres(store, row) => store.seal(row).map(|()| None),
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
    pub fn prepare(
        from: Place<'p>,
        to: Place<'p>,
        known: &KnownStores,
    ) -> Result<Self, RelocationFault> {
        let lock = rebuild_lock(from.layout)?;
        finish_locked(from.layout, from.storage, Some(known))?;
        // Locked from here to the commit: an operation recorded in between would be missing in the
        // copy.
        let (held, cargo) = Held::take(from)?;
        match (from.storage, to.storage) {
            (_, Storage::Postgres) => {
                if !PostgresStore::create(to.layout, &cargo.store, &cargo.recorded)? {
                    make_room(to, &cargo)?;
                }
                verify_built(to.layout, to.storage, &cargo)?;
            }
            // SQLite and JSON share the journal, which is already the new state.
            (Storage::Sqlite, Storage::Json) => verify_built(to.layout, to.storage, &cargo)?,
            _ => {
                let with_journal = from.storage != Storage::Json;
                refuse_occupied(to, &cargo, with_journal)?;
                let built = build_staged(
                    to.layout,
                    to.storage,
                    &cargo,
                    &BookContents::default(),
                    with_journal,
                );
                built.inspect_err(|_| remove_staging(to.layout))?;
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
    pub fn cargo(&self) -> &Cargo {
        &self.cargo
    }

    /// Commits the move: `change_settings` points the project's settings to the copy, or changes
    /// nothing. Returns where the original is.
    ///
    /// # Errors
    /// Those of `change_settings`, or a [`StoreFault`]; the state then stays where it was.
    pub fn commit<E: From<StoreFault>>(
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
        let manifest = Manifest {
            moved_to,
            ..Manifest::new(now, QuarantineReason::Moved, what, head)
        };
        // Before the note, which refers to the set by its id.
        let set = QuarantineSet::create(from.layout, &manifest)
            .inspect_err(|_| remove_staging(from.layout))?;
        let note = Note {
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
            set.remove_if_unused();
            remove_staging(from.layout);
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
        let installed = if builds { swap.install(None) } else { Ok(()) };
        // Sealed before the settings change: otherwise a process with the old settings could still
        // commit to the original.
        let writers = match installed.and_then(|()| held.seal()) {
            Ok(writers) => writers,
            Err(fault) => return Err(swap.give_up(None, fault).into()),
        };
        if let Err(error) = change_settings() {
            // Best effort: the note remains, and the next command reverts the rest.
            let _ = swap.revert(None);
            return Err(error);
        }
        if to.storage != Storage::Postgres {
            forget_moves(to.layout);
        }
        // The move is committed. A failed clean-up is finished by the next command that finds the
        // note.
        let _ = swap.quarantine_moved();
        drop(writers);
        let mut kept: Vec<String> = set
            .folder()
            .exists()
            .then(|| from.layout.relative(set.folder()))
            .into_iter()
            .collect();
        if from.storage == Storage::Postgres {
            kept.extend(
                PostgresStore::put_aside(from.layout, &now.to_string())
                    .ok()
                    .flatten(),
            );
        }
        Ok(kept)
    }
}

/// Clears the destination in a shared database, if it holds this state or an older copy that an
/// interrupted move left there.
fn make_room(to: Place<'_>, cargo: &Cargo) -> Result<(), RelocationFault> {
    let there = match load(to.layout, to.storage) {
        // It was moved away from there, and the move was interrupted before it was renamed.
        Err(StoreFault::Moved) => None,
        Err(StoreFault::AnotherProject { .. }) => return Err(RelocationFault::Occupied),
        there => Some(there?),
    };
    if there.as_ref().is_some_and(|there| there.is_same(cargo)) {
        return Ok(());
    }
    // Anything that is not a prefix of our history has operations that would be lost.
    if there.is_some_and(|there| !cargo.holds(&there)) {
        return Err(RelocationFault::Occupied);
    }
    let now = domain::ports::Clock::now(&crate::clock::SystemClock);
    PostgresStore::put_aside(to.layout, &now.to_string())?;
    match PostgresStore::create(to.layout, &cargo.store, &cargo.recorded)? {
        true => Ok(()),
        false => Err(StoreFault::Locked { holder: None }.into()),
    }
}

/// Refuses a local destination that holds another state. A copy of ours, or a damaged state, is
/// quarantined by the swap.
fn refuse_occupied(
    to: Place<'_>,
    cargo: &Cargo,
    with_journal: bool,
) -> Result<(), RelocationFault> {
    let layout = to.layout;
    crate::private::create_directory(&layout.home)
        .map_err(|error| io_fault("cannot create", &layout.home, error))?;
    let has_journal = with_journal && exists(&layout.journal);
    if !has_journal && !exists(&layout.database) {
        return Ok(());
    }
    let there = match to.storage {
        Storage::Json => load_journal(&Journal::at(&layout.journal)),
        _ => load(layout, to.storage),
    };
    match there {
        Ok(there) if cargo.holds(&there) => Ok(()),
        Ok(_) => Err(RelocationFault::Occupied),
        Err(StoreFault::Missing | StoreFault::Moved | StoreFault::Damaged { .. }) => Ok(()),
        Err(fault) => Err(fault.into()),
    }
}
