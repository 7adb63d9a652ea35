//! A whole state on its way: from one engine to another, into a file, and back.
//!
//! What travels are the operations with their texts, chained by hashes: the journal's form. Whoever receives them makes the
//! same state from them, so that comparing the chains and checking the tables compares everything.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;

use domain::ids::{OperationId, StoreId};
use domain::ports::{Clock, Store, StoreFault};
use domain::settings::Storage;

use crate::clock::SystemClock;
use crate::durable::{Durability, replace};
use crate::engine::{EngineSettings, Recorded, io_fault};
use crate::journal::{self, Journal};
use crate::json::JsonStore;
use crate::known_stores::KnownStores;
use crate::layout::Layout;
use crate::postgres::PostgresStore;
use crate::recovery::{aside, database_files, rebuild_lock};
use crate::sqlite::SqliteStore;
use crate::tables::view::StoreRow;

/// Every operation of a state.
pub struct Cargo {
    pub(crate) store: StoreId,
    pub(crate) recorded: Vec<Recorded>,
}

impl Cargo {
    /// Returns the last operation's number.
    #[must_use]
    pub fn head(&self) -> OperationId {
        self.recorded.last().map(|one| one.operation.id).unwrap_or_default()
    }

    /// Returns whose state it is.
    #[must_use]
    pub fn store(&self) -> &StoreId {
        &self.store
    }

    /// Says whether every operation of the other is in this one, in the same place.
    #[must_use]
    pub fn holds(&self, other: &Self) -> bool {
        let same = |(own, other): (&Recorded, &Recorded)| own.hash == other.hash && own.body == other.body;
        self.store == other.store
            && self.recorded.len() >= other.recorded.len()
            && self.recorded.iter().zip(&other.recorded).all(same)
    }
}

/// Takes up a project's whole state.
///
/// # Errors
/// [`StoreFault`] when it cannot be read, or is damaged.
pub fn load(layout: &Layout, storage: Storage) -> Result<Cargo, StoreFault> {
    let (store, recorded) = match storage {
        Storage::Sqlite | Storage::Remote => SqliteStore::open(layout, &EngineSettings::default())?.entries()?,
        Storage::Postgres => PostgresStore::open(layout, &EngineSettings::default())?.entries()?,
        Storage::Json => from_journal(&Journal::at(&layout.journal))?,
    };
    Ok(Cargo { store, recorded })
}

pub(crate) fn from_journal(journal: &Journal) -> Result<(StoreId, Vec<Recorded>), StoreFault> {
    let contents = journal.read_all().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => StoreFault::Missing,
        _ => io_fault("cannot read", journal.path(), error),
    })?;
    // A torn last line is an operation that never was.
    if let Some(damage) = contents.damage.filter(|damage| !damage.torn) {
        return Err(StoreFault::Damaged { what: format!("line {}: {}", damage.line, damage.what) });
    }
    let store = contents.store.ok_or_else(|| StoreFault::Damaged { what: "it names no store".to_owned() })?;
    Ok((store, contents.entries.into_iter().map(Recorded::from).collect()))
}

/// A state that is held: nobody else can change it meanwhile.
pub struct Held {
    layout: Layout,
    storage: Storage,
    by: Hold,
}

enum Hold {
    Sqlite(Box<SqliteStore>, StoreRow),
    Postgres(Box<PostgresStore>, StoreRow),
    Json(#[expect(dead_code, reason = "a lock is held as long as its file is open")] fs::File),
}

/// Holds a project's state and takes all of it up; also one whose move was interrupted.
///
/// # Errors
/// [`StoreFault`] when it cannot be read, or is damaged.
pub fn hold(layout: &Layout, storage: Storage) -> Result<(Held, Cargo), StoreFault> {
    let settings = EngineSettings::default();
    let (by, cargo) = match storage {
        Storage::Sqlite | Storage::Remote => {
            let store = SqliteStore::open(layout, &settings)?;
            let (row, recorded) = store.hold()?;
            let cargo = Cargo { store: row.store.clone(), recorded };
            (Hold::Sqlite(Box::new(store), row), cargo)
        }
        Storage::Postgres => {
            let store = PostgresStore::open(layout, &settings)?;
            let (row, recorded) = store.hold()?;
            let cargo = Cargo { store: row.store.clone(), recorded };
            (Hold::Postgres(Box::new(store), row), cargo)
        }
        Storage::Json => {
            let lock = JsonStore::open(layout, &settings)?.lock()?;
            let (store, recorded) = from_journal(&Journal::at(&layout.journal))?;
            (Hold::Json(lock), Cargo { store, recorded })
        }
    };
    Ok((Held { layout: layout.clone(), storage, by }, cargo))
}

impl Held {
    /// Ends every use of this state: who had it open is told that it was moved. A JSON state is merely let go of.
    ///
    /// # Errors
    /// [`StoreFault`]; it is then in use as before.
    pub fn seal(self) -> Result<Sealed, StoreFault> {
        let Self { layout, storage, by } = self;
        match by {
            Hold::Sqlite(store, row) => store.seal(row)?,
            Hold::Postgres(store, row) => store.seal(row)?,
            Hold::Json(_) => {}
        }
        Ok(Sealed { layout, storage })
    }
}

/// A state nobody uses any more.
pub struct Sealed {
    layout: Layout,
    storage: Storage,
}

impl Sealed {
    /// Puts it aside, and returns where it is now. Nothing is deleted. The journal stays where the new engine goes on with it.
    ///
    /// # Errors
    /// [`StoreFault`] when it cannot be.
    pub fn put_aside(self, to: Storage) -> Result<Vec<String>, StoreFault> {
        let Self { layout, storage } = self;
        match (storage, to) {
            (Storage::Json, Storage::Sqlite) => Ok(Vec::new()),
            (Storage::Sqlite, Storage::Json) => {
                let _lock = rebuild_lock(&layout)?;
                let files = database_files(&layout.database).into_iter().filter(|file| file.exists());
                files.map(|file| aside(&layout, &file)).collect()
            }
            _ => put_state_aside(&layout, storage),
        }
    }
}

/// Makes a project's state out of a cargo, where there is none yet; says whether it was made. All or nothing.
///
/// # Errors
/// [`StoreFault`] when it cannot be written.
pub fn unload(layout: &Layout, storage: Storage, cargo: &Cargo) -> Result<bool, StoreFault> {
    fs::create_dir_all(&layout.home).map_err(|error| io_fault("cannot make", &layout.home, error))?;
    let _lock = rebuild_lock(layout)?;
    if storage == Storage::Postgres {
        return PostgresStore::create(layout, &cargo.store, &cargo.recorded);
    }
    if storage == Storage::Sqlite && layout.database.exists() {
        return Ok(false);
    }
    let journal = Journal::at(&layout.journal);
    let unreadable = |error| io_fault("cannot read", journal.path(), error);
    let size = match journal.size().map_err(unreadable)? {
        // The same journal, of the engine that worked on it so far.
        Some(size) => {
            let (store, recorded) = from_journal(&journal)?;
            let there = Cargo { store, recorded };
            if !(there.holds(cargo) && cargo.holds(&there)) {
                return Ok(false);
            }
            size
        }
        None => {
            let lines = cargo.recorded.iter().map(Recorded::line).collect::<Result<Vec<_>, _>>()?;
            let written = journal.write_whole(&cargo.store, &lines);
            written.map_err(|error| io_fault("cannot write", journal.path(), error))?
        }
    };
    if storage == Storage::Sqlite {
        // A database that is missing beside a journal is built from it: a kill between the two loses nothing.
        SqliteStore::build_from(layout, &cargo.store, &cargo.recorded, size)?;
    }
    Ok(true)
}

/// Puts a project's state aside, so that its place is free, and returns where it is now. Nothing is deleted.
///
/// # Errors
/// [`StoreFault`] when it cannot be.
pub fn put_state_aside(layout: &Layout, storage: Storage) -> Result<Vec<String>, StoreFault> {
    if storage == Storage::Postgres {
        return Ok(PostgresStore::put_aside(layout, &SystemClock.now().to_string())?.into_iter().collect());
    }
    let _lock = rebuild_lock(layout)?;
    if storage == Storage::Sqlite
        && let Ok(store) = SqliteStore::open(layout, &EngineSettings::default())
    {
        // Who has it open would go on with what was put aside; a damaged one says so by itself.
        let _ = store.close_for_good();
    }
    let files = database_files(&layout.database).into_iter().chain([layout.journal.clone()]);
    files.filter(|file| file.exists()).map(|file| aside(layout, &file)).collect()
}

/// Opens a state that was just unloaded, looks at all of it, and compares it with what it was made from.
///
/// # Errors
/// [`StoreFault::Damaged`] when it is not the same.
pub fn check_unloaded(layout: &Layout, storage: Storage, cargo: &Cargo) -> Result<(), StoreFault> {
    let settings = EngineSettings { mirror: false, ..EngineSettings::default() };
    let found = match storage {
        Storage::Sqlite | Storage::Remote => SqliteStore::open(layout, &settings)?.verify()?,
        Storage::Postgres => PostgresStore::open(layout, &settings)?.verify()?,
        Storage::Json => Vec::new(),
    };
    if let Some(first) = found.first() {
        return Err(StoreFault::Damaged { what: first.message.clone() });
    }
    let there = load(layout, storage)?;
    match there.holds(cargo) && cargo.holds(&there) {
        true => Ok(()),
        false => Err(StoreFault::Damaged { what: "it is not the state it was made from".to_owned() }),
    }
}

/// Remembers that this user took a state over.
///
/// # Errors
/// [`StoreFault`] when the user's directory cannot be written.
pub fn take_over(layout: &Layout, known: &KnownStores, cargo: &Cargo) -> Result<(), StoreFault> {
    known.remember(&cargo.store, &layout.root).map_err(|error| io_fault("cannot write in", known.folder(), error))
}

/// Writes a cargo to a file: the lines of a journal, compressed. Returns its size.
///
/// # Errors
/// [`StoreFault`] when it cannot be written, or does not read back as it was.
pub fn write_backup(path: &Path, cargo: &Cargo) -> Result<u64, StoreFault> {
    let cannot = |error| io_fault("cannot write", path, error);
    let mut text = journal::header(&cargo.store).map_err(cannot)?;
    for one in &cargo.recorded {
        text.push_str(&one.line()?);
    }
    let packed = zstd::bulk::compress(text.as_bytes(), 3).map_err(cannot)?;
    replace(path, &packed, Durability::Synced).map_err(cannot)?;
    let back = read_backup(path)?;
    if !(back.holds(cargo) && cargo.holds(&back)) {
        return Err(StoreFault::Damaged { what: format!("`{}` does not read back as it was", path.display()) });
    }
    Ok(packed.len() as u64)
}

/// Reads a backup, checking every line of it.
///
/// # Errors
/// [`StoreFault::Damaged`] when it is not whole.
pub fn read_backup(path: &Path) -> Result<Cargo, StoreFault> {
    let cannot = |error| io_fault("cannot read", path, error);
    let damaged = |what: String| StoreFault::Damaged { what: format!("`{}`: {what}", path.display()) };
    let file = fs::File::open(path).map_err(cannot)?;
    let reader = zstd::Decoder::new(file).map_err(|error| damaged(error.to_string()))?;
    let contents = journal::read_lines(&mut BufReader::new(reader) as &mut dyn BufRead, 0, None);
    let contents = contents.map_err(|error| damaged(error.to_string()))?;
    if let Some(damage) = contents.damage {
        return Err(damaged(format!("line {}: {}", damage.line, damage.what)));
    }
    let store = contents.store.ok_or_else(|| damaged("it is no backup".to_owned()))?;
    Ok(Cargo { store, recorded: contents.entries.into_iter().map(Recorded::from).collect() })
}
