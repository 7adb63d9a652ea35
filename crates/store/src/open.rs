//! Opening, creating and adopting a project's store.

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
use crate::postgres::PostgresStore;
use crate::recovery::{Trust, rebuild, rebuild_lock};
use crate::remote::{RemoteStore, put_replica_aside};
use crate::replacement::{Note, finish_interrupted, finish_locked};
use crate::sqlite::SqliteStore;

/// What [`create`] found to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Created {
    /// Whether the store was made now, not by another process a moment ago.
    pub new: bool,
}

/// An open store with what had to be repaired to open it.
type Opened = (Box<dyn Store>, Vec<Recovery>);

/// The outcome of opening, with what had to be finished or reverted before.
type Attempt = (Result<Box<dyn Store>, StoreFault>, Vec<Recovery>);

/// Opens the store of a project; a damaged or missing state is rebuilt first, where it can be.
///
/// `damage` is what an earlier attempt of this process stumbled over: opening looks only at the
/// beginning, so damage further in is met later, and the caller comes back with it.
///
/// # Errors
/// [`StoreFault`]; [`StoreFault::Foreign`] when the state is not this user's.
pub fn open(
    layout: &Layout,
    storage: Storage,
    settings: &EngineSettings,
    known: &KnownStores,
    damage: Option<&str>,
    now: Timestamp,
) -> Result<Opened, StoreFault> {
    crate::private::restrict_directory(&layout.home);
    // A replica is mended like any state of this machine; what it lacks then comes from the server.
    let mended = if storage == Storage::Remote {
        Storage::Sqlite
    } else {
        storage
    };
    if storage == Storage::Remote && damage.is_some() && !layout.journal.exists() {
        let put = put_replica_aside(layout)?;
        let message = format!(
            "the replica was damaged: made anew; what was there is in {}",
            put.join(", ")
        );
        return Ok((
            engine(layout, storage, settings, Some(known))?,
            vec![Recovery { message }],
        ));
    }
    if let Some(what) = damage {
        let told = rebuild(layout, mended, what, Trust::Known(known), now)?;
        return Ok((engine(layout, storage, settings, Some(known))?, told));
    }
    let (opened, mut told) = open_engine(layout, storage, settings, Some(known), known)?;
    let what = match opened {
        Ok(store) => return Ok((store, told)),
        // A replica that came with the project is somebody else's word, but the server has its own.
        Err(StoreFault::Foreign { .. }) if storage == Storage::Remote => {
            let put = put_replica_aside(layout)?;
            let message = format!(
                "the replica was not made by this user: made anew; it is in {}",
                put.join(", ")
            );
            return Ok((
                engine(layout, storage, settings, Some(known))?,
                vec![Recovery { message }],
            ));
        }
        // Nothing of one machine is put in the place of what several share.
        Err(StoreFault::Missing) if storage != Storage::Postgres => {
            format!("`{}` was missing", main_place(layout, storage))
        }
        Err(StoreFault::Damaged { what }) => {
            format!("`{}` was damaged ({what})", main_place(layout, storage))
        }
        Err(other) => return Err(other),
    };
    told.extend(rebuild(layout, mended, &what, Trust::Known(known), now)?);
    Ok((engine(layout, storage, settings, Some(known))?, told))
}

/// Opens the engine; a replacement of the state that was interrupted is finished or reverted first.
///
/// The note is looked for where that costs nothing beside the rest; with SQLite only when the state is sealed, or missing.
fn open_engine(
    layout: &Layout,
    storage: Storage,
    settings: &EngineSettings,
    trusted: Option<&KnownStores>,
    known: &KnownStores,
) -> Result<Attempt, StoreFault> {
    let mut told = Vec::new();
    if matches!(storage, Storage::Json | Storage::Postgres) && Note::exists(layout) {
        told = finish_interrupted(layout, storage, Some(known))?;
    }
    let mut opened = engine(layout, storage, settings, trusted);
    if matches!(opened, Err(StoreFault::Moved)) && storage != Storage::Postgres {
        told.extend(finish_interrupted(layout, storage, Some(known))?);
        opened = engine(layout, storage, settings, trusted);
    }
    Ok((opened, told))
}

/// Returns where the state is, for people.
#[must_use]
pub fn main_place(layout: &Layout, storage: Storage) -> String {
    match storage {
        Storage::Sqlite => layout.relative(&layout.database),
        Storage::Json => layout.relative(&layout.journal),
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

/// Returns the store a journal names, before anything is opened: a hint, which whoever can write the file can change.
#[must_use]
pub fn journal_store(layout: &Layout) -> Option<StoreId> {
    Journal::at(&layout.journal).store()
}

fn engine(
    layout: &Layout,
    storage: Storage,
    settings: &EngineSettings,
    known: Option<&KnownStores>,
) -> Result<Box<dyn Store>, StoreFault> {
    // A state somebody else made is refused before it is compared with what this user knew.
    let refuse_foreign = |store: &StoreId| match known {
        Some(known) if !known.knows(store) => Err(StoreFault::Foreign {
            store: store.clone(),
        }),
        _ => Ok(()),
    };
    Ok(match storage {
        Storage::Sqlite => {
            let store = SqliteStore::open(layout, settings)?;
            store.compare_history(&refuse_foreign)?;
            Box::new(store)
        }
        Storage::Json => {
            let store = JsonStore::open(layout, settings)?;
            store.compare_history(&refuse_foreign)?;
            Box::new(store)
        }
        Storage::Postgres => {
            let store = PostgresStore::open(layout, settings)?;
            store.compare_history(&refuse_foreign)?;
            Box::new(store)
        }
        Storage::Remote => {
            let store = RemoteStore::open(layout, settings, known)?;
            refuse_foreign(&store.id()?)?;
            Box::new(store)
        }
    })
}

/// Makes a new, empty store.
///
/// # Errors
/// [`StoreFault`] when something cannot be written.
pub fn create(
    layout: &Layout,
    storage: Storage,
    known: &KnownStores,
) -> Result<Created, StoreFault> {
    crate::private::create_directory(&layout.home)
        .map_err(|error| io_fault("cannot make", &layout.home, error))?;
    let _lock = rebuild_lock(layout)?;
    if Note::exists(layout) {
        finish_locked(layout, storage, Some(known))?;
    }
    // Two at once: the second finds what the first made.
    let there = match storage {
        Storage::Sqlite => layout.database.exists(),
        Storage::Json => layout.journal.exists(),
        Storage::Postgres => false,
        // The replica is made when it is first opened.
        Storage::Remote => return Ok(Created { new: false }),
    };
    if there {
        return Ok(Created { new: false });
    }
    let store = new_store_id();
    known
        .remember(&store, &layout.root)
        .map_err(|error| io_fault("cannot write in", known.folder(), error))?;
    Ok(Created {
        new: lay(layout, storage, &store)?,
    })
}

/// Returns an id for a project that is made now.
#[must_use]
pub fn new_project_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// Looks whether this project is in the shared database.
///
/// # Errors
/// [`StoreFault::Missing`] when it is not; [`StoreFault::AnotherProject`] when another one has its name.
pub fn find_shared_project(layout: &Layout) -> Result<(), StoreFault> {
    PostgresStore::open(layout, &EngineSettings::default()).map(drop)
}

/// Returns the id of the project that has this one's name in the shared database, if it has one.
///
/// # Errors
/// [`StoreFault`] when the database cannot be asked.
pub fn shared_project_id(layout: &Layout) -> Result<Option<String>, StoreFault> {
    PostgresStore::id_by_name(layout)
}

/// Returns the id of the project that has this one's name in the shared database, after giving it `id` where it had none.
///
/// # Errors
/// [`StoreFault::Missing`] when there is no such project.
pub fn join_shared_project(layout: &Layout, id: &str) -> Result<String, StoreFault> {
    if PostgresStore::give_id(layout, id)? {
        return Ok(id.to_owned());
    }
    PostgresStore::id_by_name(layout)?.ok_or(StoreFault::Missing)
}

/// Returns an empty state in memory with the identity of the project's own, where that is known to this user; what is
/// recorded in it can take the place of a state that cannot be used ([`crate::replace_state`]).
///
/// # Errors
/// [`StoreFault::Newer`] when a newer program wrote the present state.
pub fn empty_successor(
    layout: &Layout,
    storage: Storage,
    known: &KnownStores,
) -> Result<MemoryStore, StoreFault> {
    let shared = match storage {
        Storage::Postgres => {
            match PostgresStore::open(layout, &EngineSettings::default())
                .and_then(|store| store.id())
            {
                Err(fault @ StoreFault::Newer { .. }) => return Err(fault),
                found => found.ok(),
            }
        }
        _ => None,
    };
    let own = || {
        Mirror::new(&layout.mirror)
            .store()
            .or_else(|| {
                Journal::at(&layout.journal)
                    .read_all()
                    .ok()
                    .and_then(|contents| contents.store)
            })
            .filter(|id| known.knows(id))
    };
    Ok(MemoryStore::new(
        shared.or_else(own).unwrap_or_else(new_store_id),
    ))
}

fn new_store_id() -> StoreId {
    StoreId(uuid::Uuid::new_v4().to_string())
}

/// Makes an empty store; says whether there was none.
fn lay(layout: &Layout, storage: Storage, store: &StoreId) -> Result<bool, StoreFault> {
    if storage == Storage::Postgres {
        return PostgresStore::create(layout, store, &[]);
    }
    let size = Journal::at(&layout.journal)
        .write_whole(store, &[])
        .map_err(|error| io_fault("cannot write", &layout.journal, error))?;
    if storage == Storage::Sqlite {
        if let Some(folder) = layout.database.parent() {
            crate::private::create_directory(folder)
                .map_err(|error| io_fault("cannot make", folder, error))?;
        }
        SqliteStore::build(layout, store, &[], size)?;
    }
    Ok(true)
}

/// Takes over the state that came with a cloned project.
///
/// # Errors
/// [`StoreFault::Missing`] when there is none.
pub fn adopt(
    layout: &Layout,
    storage: Storage,
    settings: &EngineSettings,
    known: &KnownStores,
    now: Timestamp,
) -> Result<Opened, StoreFault> {
    let (opened, mut told) = open_engine(layout, storage, settings, None, known)?;
    let what = match opened {
        Ok(_) => None,
        Err(StoreFault::Missing) if storage != Storage::Postgres => {
            Some("the project came without a database".to_owned())
        }
        Err(StoreFault::Damaged { ref what }) => Some(format!("the database is damaged ({what})")),
        Err(other) => return Err(other),
    };
    if let Some(what) = &what {
        told.extend(rebuild(layout, storage, what, Trust::Adopted(known), now)?);
    }
    let store = match what {
        None => opened?,
        Some(_) => engine(layout, storage, settings, None)?,
    };
    let id = store.read()?.store_id()?;
    known
        .remember(&id, &layout.root)
        .map_err(|error| io_fault("cannot write in", known.folder(), error))?;
    record_head(&*store, settings)?;
    Ok((store, told))
}

/// Makes the head of an open store the one this user knows: for whoever replaces a state on purpose.
///
/// # Errors
/// [`StoreFault`] when it cannot be read, or the user's directory cannot be written.
pub fn record_head(store: &dyn Store, settings: &EngineSettings) -> Result<(), StoreFault> {
    let Some(heads) = &settings.heads else {
        return Ok(());
    };
    let state = store.read()?;
    let (id, head) = (state.store_id()?, state.head()?);
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
