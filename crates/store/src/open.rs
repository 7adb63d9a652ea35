//! Opening, creating and adopting a project's store.
//!
//! Chooses the engine, resumes an interrupted replacement, and starts recovery when the state is
//! damaged or missing. Runs no schema migration: an engine upgrades itself on its first write.

use domain::ids::StoreId;
use domain::ports::{Recovery, Store, StoreFault};
use domain::settings::Storage;
use domain::time::Timestamp;

use crate::engine::{EngineSettings, io_fault};
use crate::journal::Journal;
use crate::json::JsonStore;
use crate::known_stores::KnownStores;
use crate::layout::Layout;
use crate::memory::MemoryStore;
use crate::mirror::Mirror;
use crate::mirror_migration::migrate_mirror;
use crate::postgres::PostgresStore;
use crate::recovery::{Trust, acquire_rebuild_lock, mirror_for_recovery, rebuild_state};
use crate::remote::{RemoteStore, quarantine_replica};
use crate::replacement::{SwapNote, finish_interrupted_locked, finish_interrupted_swap};
use crate::sqlite::SqliteStore;

/// Outcome of [`create`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Created {
    /// Whether this call created the store; `false` when another process had done so.
    pub new: bool,
}

/// An open store, with the repairs that opening it required.
type OpenedStore = (Box<dyn Store>, Vec<Recovery>);

/// The result of opening, with the interrupted replacements finished or reverted before it.
type OpenAttempt = (Result<Box<dyn Store>, StoreFault>, Vec<Recovery>);

/// Opens the store of a project, rebuilding a damaged or missing state first where possible.
///
/// `damage` describes corruption found by an earlier attempt of this process: opening verifies
/// only the start of the state, so damage further in surfaces later and the caller retries with it.
///
/// # Errors
/// [`StoreFault`]; [`StoreFault::Foreign`] when this user neither created nor adopted the state.
pub fn open_store(
    layout: &Layout,
    storage: Storage,
    settings: &EngineSettings,
    known: &KnownStores,
    damage: Option<&str>,
    now: Timestamp,
) -> Result<OpenedStore, StoreFault> {
    crate::private_files::restrict_directory(&layout.home);
    migrate_mirror(layout);
    // A replica is an ordinary SQLite store, so it is repaired like one; the operations it then
    // lacks are fetched from the server.
    let repaired_storage = if storage == Storage::Remote {
        Storage::Sqlite
    } else {
        storage
    };
    // Without its journal there is nothing local to rebuild a replica from. Salvaging rows from the
    // damaged database would be guesswork, while the server has every operation.
    if storage == Storage::Remote && damage.is_some() && !layout.journal.exists() {
        let put = quarantine_replica(layout)?;
        let message = format!(
            "the replica was damaged and is rebuilt from the server; the old one is in {}",
            put.join(", ")
        );
        return Ok((
            instantiate_engine(layout, storage, settings, Some(known))?,
            vec![Recovery { message }],
        ));
    }
    if let Some(what) = damage {
        let told = rebuild_state(layout, repaired_storage, what, Trust::Known(known), now)?;
        return Ok((
            instantiate_engine(layout, storage, settings, Some(known))?,
            told,
        ));
    }
    let (opened, mut told) = open_resuming_swap(layout, storage, settings, Some(known), known)?;
    let what = match opened {
        Ok(store) => return Ok((store, told)),
        // A replica that came with a cloned project is untrusted. Unlike a local state it needs no
        // adoption: the server's history replaces it.
        Err(StoreFault::Foreign { .. }) if storage == Storage::Remote => {
            let put = quarantine_replica(layout)?;
            let message = format!(
                "the replica was not created by this user and is rebuilt from the server; the old one is in {}",
                put.join(", ")
            );
            return Ok((
                instantiate_engine(layout, storage, settings, Some(known))?,
                vec![Recovery { message }],
            ));
        }
        // A missing shared project is never recreated from local files: one machine's copy may be
        // older than what the others have written since.
        Err(StoreFault::Missing) if storage != Storage::Postgres => {
            format!("`{}` was missing", state_location(layout, storage))
        }
        Err(StoreFault::Damaged { what }) => {
            format!("`{}` was damaged ({what})", state_location(layout, storage))
        }
        Err(other) => return Err(other),
    };
    told.extend(rebuild_state(
        layout,
        repaired_storage,
        &what,
        Trust::Known(known),
        now,
    )?);
    Ok((
        instantiate_engine(layout, storage, settings, Some(known))?,
        told,
    ))
}

/// Opens the engine after finishing or reverting an interrupted replacement of the state.
///
/// JSON and PostgreSQL check for the recovery note on every open, where one `stat` is negligible;
/// SQLite, which hooks open on every tool call, only when the state is sealed or missing.
fn open_resuming_swap(
    layout: &Layout,
    storage: Storage,
    settings: &EngineSettings,
    trusted: Option<&KnownStores>,
    known: &KnownStores,
) -> Result<OpenAttempt, StoreFault> {
    let mut told = Vec::new();
    if matches!(storage, Storage::Json | Storage::Postgres) && SwapNote::exists(layout) {
        told = finish_interrupted_swap(layout, storage, Some(known))?;
    }
    let mut opened = instantiate_engine(layout, storage, settings, trusted);
    // A sealed SQLite state means that a swap got past its commit point and was killed before the
    // renames. A sealed PostgreSQL state was moved on purpose, possibly by another machine.
    if matches!(opened, Err(StoreFault::Moved)) && storage != Storage::Postgres {
        told.extend(finish_interrupted_swap(layout, storage, Some(known))?);
        opened = instantiate_engine(layout, storage, settings, trusted);
    }
    Ok((opened, told))
}

/// Returns where the state is stored, for messages.
#[must_use]
pub fn state_location(layout: &Layout, storage: Storage) -> String {
    match storage {
        Storage::Sqlite => layout.relative_display(&layout.database),
        Storage::Json => layout.relative_display(&layout.journal),
        Storage::Postgres => match &layout.shared {
            Some(shared) => format!("{} in {}", shared.project, shared.url),
            None => "the shared database".to_owned(),
        },
        Storage::Remote => match &layout.server {
            Some(server) => server.to_string(),
            None => "the server".to_owned(),
        },
    }
}

/// Returns the store id in the journal's header, without opening the store.
///
/// A hint only: anyone who can write the file can change it.
#[must_use]
pub fn journal_store_id(layout: &Layout) -> Option<StoreId> {
    Journal::new(&layout.journal).read_store_id()
}

fn instantiate_engine(
    layout: &Layout,
    storage: Storage,
    settings: &EngineSettings,
    known: Option<&KnownStores>,
) -> Result<Box<dyn Store>, StoreFault> {
    // Trust comes before the history check: comparing an unknown store would record its head as
    // this user's first sight of it.
    let refuse_foreign = |store: &StoreId| match known {
        Some(known) if !known.is_known(store) => Err(StoreFault::Foreign {
            store: store.clone(),
        }),
        _ => Ok(()),
    };
    Ok(match storage {
        Storage::Sqlite => {
            let store = SqliteStore::open(layout, settings)?;
            store.compare_known_history(&refuse_foreign)?;
            Box::new(store)
        }
        Storage::Json => {
            let store = JsonStore::open(layout, settings)?;
            store.compare_history(&refuse_foreign)?;
            Box::new(store)
        }
        Storage::Postgres => {
            let store = PostgresStore::open(layout, settings)?;
            store.compare_known_history(&refuse_foreign)?;
            Box::new(store)
        }
        Storage::Remote => {
            let store = RemoteStore::open(layout, settings, known)?;
            refuse_foreign(&store.id()?)?;
            Box::new(store)
        }
    })
}

/// Creates a new, empty store.
///
/// # Errors
/// [`StoreFault`] when something cannot be written.
pub fn create_store(
    layout: &Layout,
    storage: Storage,
    known: &KnownStores,
) -> Result<Created, StoreFault> {
    create_remembered_store(layout, storage, known, &|store| {
        known.adopt_store(store, &layout.root)
    })
}

/// Creates the empty store of a fresh clone or worktree, to be filled from its plan files.
///
/// Returns a recovery if this user had a state in this very directory, which is lost then. The new
/// store is adopted where a worktree of the same repository has an adopted one.
///
/// # Errors
/// [`StoreFault::Missing`] for an engine whose state is not built from files.
pub fn create_unbuilt_store(
    layout: &Layout,
    storage: Storage,
    known: &KnownStores,
) -> Result<Option<Recovery>, StoreFault> {
    if !matches!(storage, Storage::Sqlite | Storage::Json) {
        return Err(StoreFault::Missing);
    }
    let is_loss = known.had_store_in(&layout.root);
    // A folder without a head is not a mirror of ours, and what came with a repository may lead out
    // of it by a link.
    if layout.mirror.symlink_metadata().is_ok()
        && Mirror::new(&layout.mirror).store_id().is_none()
        && let Err(error) = crate::durable::quarantine_file(&layout.mirror, &layout.damaged)
    {
        return Err(io_fault("cannot move", &layout.mirror, error));
    }
    let others = crate::git::project_in_other_worktrees(&layout.root);
    let adopted = known.has_adopted_store(&others);
    create_remembered_store(layout, storage, known, &|store| {
        known.remember_built_store(store, &layout.root, adopted)
    })?;
    Ok(is_loss.then(|| Recovery {
        message: format!(
            "`{}` was missing, and with it journal and mirror; rebuilt from the plan files: the history is lost, and \
             so are approvals that are not in git",
            state_location(layout, storage)
        ),
    }))
}

/// Creates an empty store, added to the trusted ones by `remember`.
fn create_remembered_store(
    layout: &Layout,
    storage: Storage,
    known: &KnownStores,
    remember: &dyn Fn(&StoreId) -> std::io::Result<()>,
) -> Result<Created, StoreFault> {
    crate::private_files::create_private_directory(&layout.home)
        .map_err(|error| io_fault("cannot create", &layout.home, error))?;
    let _lock = acquire_rebuild_lock(layout)?;
    if SwapNote::exists(layout) {
        finish_interrupted_locked(layout, storage, Some(known))?;
    }
    // Two processes may create the store at once. The second one waited for the rebuild lock and
    // must not overwrite what the first has created.
    let there = match storage {
        Storage::Sqlite => layout.database.exists(),
        Storage::Json => layout.journal.exists(),
        // The database decides atomically in `PostgresStore::create`.
        Storage::Postgres => false,
        // A replica is created on first open, because its store id comes from the server.
        Storage::Remote => return Ok(Created { new: false }),
    };
    if there {
        return Ok(Created { new: false });
    }
    let store = new_store_id();
    // Trusted before it exists: a kill in between leaves an unused id on the list, the other order
    // would leave a store that its own creator has to adopt.
    remember(&store).map_err(|error| io_fault("cannot write in", known.folder(), error))?;
    Ok(Created {
        new: create_empty_state(layout, storage, &store)?,
    })
}

/// Returns a random id for a new project.
#[must_use]
pub fn new_project_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// Checks that this project exists in the shared database.
///
/// # Errors
/// [`StoreFault::Missing`] when it does not; [`StoreFault::AnotherProject`] when its name is taken.
pub fn find_shared_project(layout: &Layout) -> Result<(), StoreFault> {
    PostgresStore::open(layout, &EngineSettings::default()).map(drop)
}

/// Returns the id of the project with this one's name in the shared database, if it has an id.
///
/// # Errors
/// [`StoreFault`] when the database cannot be queried.
pub fn shared_project_id(layout: &Layout) -> Result<Option<String>, StoreFault> {
    PostgresStore::project_id_by_name(layout)
}

/// Returns the id of the project with this one's name in the shared database, assigning `id` first
/// where it has none.
///
/// # Errors
/// [`StoreFault::Missing`] when there is no such project.
pub fn join_shared_project(layout: &Layout, id: &str) -> Result<String, StoreFault> {
    // Compare-and-set in the database: of two working copies that join at once, the second gets the
    // id of the first.
    if PostgresStore::assign_project_id(layout, id)? {
        return Ok(id.to_owned());
    }
    PostgresStore::project_id_by_name(layout)?.ok_or(StoreFault::Missing)
}

/// Returns an empty in-memory state with the project's store id, where this user trusts that id.
///
/// What is recorded in it can replace a state that is unusable ([`crate::replace_state`]).
///
/// # Errors
/// [`StoreFault::Newer`] when a newer program wrote the present state.
pub fn empty_successor_state(
    layout: &Layout,
    storage: Storage,
    known: &KnownStores,
) -> Result<MemoryStore, StoreFault> {
    let shared = match storage {
        Storage::Postgres => {
            match PostgresStore::open(layout, &EngineSettings::default())
                .and_then(|store| store.read_store_id())
            {
                Err(fault @ StoreFault::Newer { .. }) => return Err(fault),
                found => found.ok(),
            }
        }
        _ => None,
    };
    // Keeping the id keeps the trust, the known head and the policy pin of this user; an id from
    // files that came with a repository must not inherit them, hence the filter.
    let own = || {
        mirror_for_recovery(layout)
            .store_id()
            .or_else(|| {
                Journal::new(&layout.journal)
                    .read_all_entries()
                    .ok()
                    .and_then(|contents| contents.store)
            })
            .filter(|id| known.is_known(id))
    };
    Ok(MemoryStore::new(
        shared.or_else(own).unwrap_or_else(new_store_id),
    ))
}

fn new_store_id() -> StoreId {
    StoreId(uuid::Uuid::new_v4().to_string())
}

/// Creates an empty state; returns whether there was none.
fn create_empty_state(
    layout: &Layout,
    storage: Storage,
    store: &StoreId,
) -> Result<bool, StoreFault> {
    if storage == Storage::Postgres {
        return PostgresStore::create_project(layout, store, &[]);
    }
    // The journal first: a database without its journal is damage, a journal without its database
    // is rebuilt by the next command.
    let size = Journal::new(&layout.journal)
        .write_new_journal(store, &[])
        .map_err(|error| io_fault("cannot write", &layout.journal, error))?;
    if storage == Storage::Sqlite {
        if let Some(folder) = layout.database.parent() {
            crate::private_files::create_private_directory(folder)
                .map_err(|error| io_fault("cannot create", folder, error))?;
        }
        SqliteStore::build_database(layout, store, &[], size)?;
    }
    Ok(true)
}

/// Adopts the state that came with a cloned project: from now on this user trusts it.
///
/// # Errors
/// [`StoreFault::Missing`] when there is none.
pub fn adopt_store(
    layout: &Layout,
    storage: Storage,
    settings: &EngineSettings,
    known: &KnownStores,
    now: Timestamp,
) -> Result<OpenedStore, StoreFault> {
    let (opened, mut told) = open_resuming_swap(layout, storage, settings, None, known)?;
    let what = match opened {
        Ok(_) => None,
        Err(StoreFault::Missing) if storage != Storage::Postgres => {
            Some("the project came without a database".to_owned())
        }
        Err(StoreFault::Damaged { ref what }) => Some(format!("the database is damaged ({what})")),
        Err(other) => return Err(other),
    };
    if let Some(what) = &what {
        told.extend(rebuild_state(
            layout,
            storage,
            what,
            Trust::Adopted(known),
            now,
        )?);
    }
    let store = match what {
        None => opened?,
        Some(_) => instantiate_engine(layout, storage, settings, None)?,
    };
    // Remembered only after the state was opened or rebuilt: an adoption that fails trusts nothing.
    let id = store.begin_read()?.store_id()?;
    known
        .adopt_store(&id, &layout.root)
        .map_err(|error| io_fault("cannot write in", known.folder(), error))?;
    accept_current_head(&*store, settings)?;
    Ok((store, told))
}

/// Records the head of an open store as this user's known head, after a deliberate replacement.
///
/// # Errors
/// [`StoreFault`] when it cannot be read, or the user's directory cannot be written.
pub fn accept_current_head(store: &dyn Store, settings: &EngineSettings) -> Result<(), StoreFault> {
    let Some(heads) = &settings.heads else {
        return Ok(());
    };
    let state = store.begin_read()?;
    let (id, head) = (state.store_id()?, state.last_operation_id()?);
    let Some(hash) = state.chain_hash(head)? else {
        return Ok(());
    };
    heads
        .record_head(&id, head, hash)
        .map_err(|error| StoreFault::Io {
            action: "cannot write the known head in the user's directory".to_owned(),
            source: error.into(),
        })
}
