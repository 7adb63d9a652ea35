//! Opening, creating and adopting a project's store.

use std::fs;

use domain::ids::StoreId;
use domain::ports::{Clock, Recovery, Store, StoreFault};
use domain::settings::Storage;
use domain::time::Timestamp;

use crate::engine::{EngineSettings, io_fault};
use crate::journal::Journal;
use crate::json::JsonStore;
use crate::known_stores::KnownStores;
use crate::layout::Layout;
use crate::mirror::Mirror;
use crate::postgres::PostgresStore;
use crate::recovery::{Trust, aside, book_contents, database_files, put_book, rebuild, rebuild_lock};
use crate::remote::{RemoteStore, put_replica_aside};
use crate::sqlite::SqliteStore;

/// What [`create`] found to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Created {
    /// Whether the store was made now, not by another process a moment ago.
    pub new: bool,
}

/// An open store with what had to be repaired to open it.
type Opened = (Box<dyn Store>, Vec<Recovery>);

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
    // A replica is mended like any state of this machine; what it lacks then comes from the server.
    let mended = if storage == Storage::Remote { Storage::Sqlite } else { storage };
    if storage == Storage::Remote && damage.is_some() && !layout.journal.exists() {
        let put = put_replica_aside(layout)?;
        let message = format!("the replica was damaged: made anew; what was there is in {}", put.join(", "));
        return Ok((engine(layout, storage, settings, Some(known))?, vec![Recovery { message }]));
    }
    if let Some(what) = damage {
        let told = rebuild(layout, mended, what, Trust::Known(known), now)?;
        return Ok((engine(layout, storage, settings, Some(known))?, told));
    }
    match engine(layout, storage, settings, Some(known)) {
        Ok(store) => Ok((store, Vec::new())),
        // A replica that came with the project is somebody else's word, but the server has its own.
        Err(StoreFault::Foreign { .. }) if storage == Storage::Remote => {
            let put = put_replica_aside(layout)?;
            let message = format!("the replica was not made by this user: made anew; it is in {}", put.join(", "));
            Ok((engine(layout, storage, settings, Some(known))?, vec![Recovery { message }]))
        }
        // Nothing of one machine is put in the place of what several share.
        Err(StoreFault::Missing) if storage != Storage::Postgres => {
            let what = format!("`{}` was missing", main_place(layout, storage));
            let told = rebuild(layout, mended, &what, Trust::Known(known), now)?;
            Ok((engine(layout, storage, settings, Some(known))?, told))
        }
        Err(StoreFault::Damaged { what }) => {
            let what = format!("`{}` was damaged ({what})", main_place(layout, storage));
            let told = rebuild(layout, mended, &what, Trust::Known(known), now)?;
            Ok((engine(layout, storage, settings, Some(known))?, told))
        }
        Err(other) => Err(other),
    }
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

fn engine(
    layout: &Layout,
    storage: Storage,
    settings: &EngineSettings,
    known: Option<&KnownStores>,
) -> Result<Box<dyn Store>, StoreFault> {
    let (store, id): (Box<dyn Store>, StoreId) = match storage {
        Storage::Sqlite => {
            let store = SqliteStore::open(layout, settings)?;
            let id = store.id()?;
            (Box::new(store), id)
        }
        Storage::Json => {
            let store = JsonStore::open(layout, settings)?;
            let id = store.id()?;
            (Box::new(store), id)
        }
        Storage::Postgres => {
            let store = PostgresStore::open(layout, settings)?;
            let id = store.id()?;
            (Box::new(store), id)
        }
        Storage::Remote => {
            let store = RemoteStore::open(layout, settings, known)?;
            let id = store.id()?;
            (Box::new(store), id)
        }
    };
    if let Some(known) = known
        && !known.knows(&id)
    {
        return Err(StoreFault::Foreign { store: id });
    }
    Ok(store)
}

/// Makes a new, empty store.
///
/// # Errors
/// [`StoreFault`] when something cannot be written.
pub fn create(layout: &Layout, storage: Storage, known: &KnownStores) -> Result<Created, StoreFault> {
    fs::create_dir_all(&layout.home).map_err(|error| io_fault("cannot make", &layout.home, error))?;
    let _lock = rebuild_lock(layout)?;
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
    let store = StoreId(uuid::Uuid::new_v4().to_string());
    known.remember(&store, &layout.root).map_err(|error| io_fault("cannot write in", known.folder(), error))?;
    Ok(Created { new: lay(layout, storage, &store)? })
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

/// Puts database and journal aside and makes an empty store of the same identity.
///
/// # Errors
/// [`StoreFault`] when something cannot be written.
pub fn start_afresh(layout: &Layout, storage: Storage, known: &KnownStores) -> Result<Vec<String>, StoreFault> {
    let id = Mirror::new(&layout.mirror)
        .store()
        .or_else(|| Journal::at(&layout.journal).read_all().ok().and_then(|contents| contents.store))
        .filter(|id| known.knows(id));
    // Whoever was let in stays let in: tokens are no part of what is made anew.
    let book = book_contents(layout, storage, |id| known.knows(id));
    if storage == Storage::Postgres {
        let id = PostgresStore::open(layout, &EngineSettings::default()).and_then(|store| store.id()).ok().or(id);
        let aside = PostgresStore::put_aside(layout, &crate::clock::SystemClock.now().to_string())?;
        match id {
            Some(id) => lay(layout, storage, &id).map(drop)?,
            None => create(layout, storage, known).map(drop)?,
        }
        put_book(layout, storage, &book)?;
        return Ok(aside.into_iter().collect());
    }
    let mut put = Vec::new();
    for file in database_files(&layout.database).into_iter().chain([layout.journal.clone()]) {
        if file.exists() {
            put.push(aside(layout, &file)?);
        }
    }
    match id {
        Some(id) => {
            lay(layout, storage, &id)?;
        }
        None => {
            create(layout, storage, known)?;
        }
    }
    put_book(layout, storage, &book)?;
    Ok(put)
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
            fs::create_dir_all(folder).map_err(|error| io_fault("cannot make", folder, error))?;
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
    let (store, told) = match engine(layout, storage, settings, None) {
        Ok(store) => (store, Vec::new()),
        Err(StoreFault::Missing) if storage != Storage::Postgres => {
            let told = rebuild(layout, storage, "the project came without a database", Trust::Adopted, now)?;
            (engine(layout, storage, settings, None)?, told)
        }
        Err(StoreFault::Damaged { what }) => {
            let told = rebuild(layout, storage, &format!("the database is damaged ({what})"), Trust::Adopted, now)?;
            (engine(layout, storage, settings, None)?, told)
        }
        Err(other) => return Err(other),
    };
    let id = store.read()?.store_id()?;
    known.remember(&id, &layout.root).map_err(|error| io_fault("cannot write in", known.folder(), error))?;
    Ok((store, told))
}
