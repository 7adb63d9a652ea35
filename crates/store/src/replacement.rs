//! Atomic replacement of a project's state: build beside, verify, seal, swap by renames, with a synced recovery note.
//!
//! The new state is built in `replacing/` and verified before anything else happens, so that a full disk changes nothing.
//! Then the note `replacing.json` is written, the old state is sealed, and files are renamed: the old ones into
//! quarantine, the new ones into their place, the database last. A process that finds the state missing or sealed takes
//! the rebuild lock and, if there is a note, finishes the swap or reverts it. The normal path never looks for the note.
//!
//! The commit point is the seal: until then the old state may be in use, and a note found later only means cleaning up.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use domain::ids::StoreId;
use domain::planning_prompt::count;
use domain::ports::{Recovery, StoreFault};
use domain::settings::Storage;
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::durable::{Durability, replace, sync_folder};
use crate::engine::{EngineSettings, Recorded, io_fault};
use crate::journal::Journal;
use crate::json;
use crate::known_stores::KnownStores;
use crate::layout::Layout;
use crate::mirror::Mirror;
use crate::postgres::PostgresStore;
use crate::quarantine::{ChainHead, Manifest, QuarantineReason, QuarantineSet, forget_moves, make_private_folder};
use crate::recovery::{book_contents, put_book, rebuild_lock};
use crate::sqlite::SqliteStore;
use crate::tables::access::BookContents;
use crate::tables::view::StoreRow;
use crate::transfer::{Cargo, load_journal, verify_built};

/// SQLite's files, by what is added to the database's name; the database itself first, so that it is gone before its log.
pub(crate) const DATABASE_ENDINGS: [&str; 3] = ["", "-wal", "-shm"];

/// Which command replaces the state, and why.
#[derive(Clone, Debug)]
pub struct ReplacementCause<'o> {
    /// As a person would type it: `restore-backup`.
    pub command: &'o str,
    pub reason: QuarantineReason,
    pub why: String,
    pub now: Timestamp,
}

/// The recovery note.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) format: u32,
    pub(crate) command: String,
    pub(crate) at: Timestamp,
    pub(crate) from: Storage,
    pub(crate) to: Storage,
    /// The quarantine set that takes the old files.
    pub(crate) quarantine: String,
    pub(crate) old: Option<ChainHead>,
    pub(crate) new: ChainHead,
}

impl Note {
    fn path(layout: &Layout) -> PathBuf {
        folder_of(&layout.journal).join("replacing.json")
    }

    /// Says whether there is one.
    pub(crate) fn exists(layout: &Layout) -> bool {
        exists(&Self::path(layout))
    }

    /// Reads it; one that is not ours says nothing, and is removed.
    fn read(layout: &Layout) -> Result<Option<Self>, StoreFault> {
        let path = Self::path(layout);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_fault("cannot read", &path, error)),
        };
        let note = serde_json::from_slice::<Self>(&bytes).ok().filter(|note| note.format == 1);
        if note.is_none() {
            Self::remove(layout)?;
        }
        Ok(note)
    }

    pub(crate) fn write(&self, layout: &Layout) -> Result<(), StoreFault> {
        let path = Self::path(layout);
        let written = serde_json::to_vec_pretty(self)
            .map_err(io::Error::other)
            .and_then(|bytes| replace(&path, &bytes, Durability::Synced));
        written.map_err(|error| {
            // It may be there although its folder could not be synced.
            let _ = Self::remove(layout);
            io_fault("cannot write", &path, error)
        })
    }

    fn remove(layout: &Layout) -> Result<(), StoreFault> {
        let path = Self::path(layout);
        let removed = remove_file(&path).and_then(|()| sync_folder(folder_of(&path)));
        removed.map_err(|error| io_fault("cannot remove", &path, error))
    }
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
    fs::create_dir_all(&layout.home).map_err(|error| io_fault("cannot make", &layout.home, error))?;
    let _lock = rebuild_lock(layout)?;
    finish_locked(layout, storage, Some(known))?;
    // Whoever was let in stays let in: tokens are no part of what is replaced.
    let book = book_contents(layout, storage, |id| known.knows(id));
    if storage == Storage::Postgres {
        known
            .remember(&cargo.store, &layout.root)
            .map_err(|error| io_fault("cannot write in", known.folder(), error))?;
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
    let ReplacementCause { command, reason, why, now } = cause;
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
    let swap = Swap { layout, note: &note, set: &set };
    let done = old.seal().and_then(|_held| swap.install(known).and_then(|()| swap.clean_up()));
    match done {
        Ok(()) => {}
        // It is done; only the note and its traces are left, for the next command that looks.
        Err(_) if swap.is_installed() => {}
        Err(fault) => return Err(swap.give_up(fault)),
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
        let settings = EngineSettings { mirror: false, ..EngineSettings::default() };
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
            Self::Sqlite(_, row) => {
                Some(ChainHead { store: row.store.clone(), operation: row.head, hash: row.head_hash })
            }
            Self::Json(_) => load_journal(&Journal::at(&layout.journal)).ok().map(|there| there.chain_head()),
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

/// Returns the project with its state in the folder where it is built.
pub(crate) fn staged(layout: &Layout) -> Layout {
    let folder = staging_folder(layout);
    Layout { database: folder.join("state.db"), journal: folder.join("journal.jsonl"), ..layout.clone() }
}

fn staging_folder(layout: &Layout) -> PathBuf {
    folder_of(&layout.journal).join("replacing")
}

/// Builds and verifies a state beside the present one, and syncs it; without its journal where the present one stays.
pub(crate) fn build_staged(
    layout: &Layout,
    storage: Storage,
    cargo: &Cargo,
    book: &BookContents,
    with_journal: bool,
) -> Result<(), StoreFault> {
    let folder = staging_folder(layout);
    remove_staging(layout);
    make_private_folder(&folder).map_err(|error| io_fault("cannot make", &folder, error))?;
    let mut place = staged(layout);
    let size = match with_journal {
        true => write_journal(&place.journal, &cargo.store, &cargo.recorded)?,
        false => {
            place.journal.clone_from(&layout.journal);
            let size = Journal::at(&place.journal).size();
            size.map_err(|error| io_fault("cannot read", &place.journal, error))?.unwrap_or(0)
        }
    };
    if storage == Storage::Sqlite {
        SqliteStore::build_from(&place, &cargo.store, &cargo.recorded, size)?;
        put_book(&place, storage, book)?;
    }
    verify_built(&place, storage, cargo)?;
    if storage == Storage::Sqlite {
        SqliteStore::open(&place, &EngineSettings::default())?.checkpoint()?;
        let synced = fs::File::open(&place.database).and_then(|file| file.sync_all());
        synced.map_err(|error| io_fault("cannot write", &place.database, error))?;
    }
    sync_folder(&folder).map_err(|error| io_fault("cannot write", &folder, error))
}

fn write_journal(path: &Path, store: &StoreId, recorded: &[Recorded]) -> Result<u64, StoreFault> {
    let lines = recorded.iter().map(Recorded::line).collect::<Result<Vec<_>, _>>()?;
    Journal::at(path).write_whole(store, &lines).map_err(|error| io_fault("cannot write", path, error))
}

pub(crate) fn remove_staging(layout: &Layout) {
    let folder = staging_folder(layout);
    // A link that came with a repository is removed, not followed.
    let _ = match folder.symlink_metadata() {
        Ok(found) if found.is_dir() => fs::remove_dir_all(&folder),
        Ok(_) => fs::remove_file(&folder),
        Err(_) => Ok(()),
    };
}

/// The renames of one replacement; each can be repeated.
pub(crate) struct Swap<'s> {
    pub(crate) layout: &'s Layout,
    pub(crate) note: &'s Note,
    pub(crate) set: &'s QuarantineSet,
}

impl Swap<'_> {
    /// Says whether the last rename was done: the new state is in its place.
    fn is_installed(&self) -> bool {
        !exists(&self.staged_last())
    }

    fn staged_last(&self) -> PathBuf {
        let staged = staged(self.layout);
        if self.note.to == Storage::Sqlite { staged.database } else { staged.journal }
    }

    /// Moves the old files out and the new ones in.
    pub(crate) fn install(&self, known: Option<&KnownStores>) -> Result<(), StoreFault> {
        let (layout, staged) = (self.layout, staged(self.layout));
        let brings_journal = exists(&staged.journal);
        self.quarantine_database()?;
        if brings_journal && exists(&layout.journal) {
            self.set.take_in(&layout.journal, self.set.journal())?;
        }
        self.set.sync()?;
        if self.note.to == Storage::Sqlite {
            if let Some(folder) = layout.database.parent() {
                fs::create_dir_all(folder).map_err(|error| io_fault("cannot make", folder, error))?;
            }
            if brings_journal {
                rename(&staged.journal, &layout.journal)?;
            }
            self.sync_places()?;
            make_head_known(layout, known, &self.note.new);
            rename(&staged.database, &layout.database)?;
        } else {
            make_head_known(layout, known, &self.note.new);
            rename(&staged.journal, &layout.journal)?;
        }
        self.sync_places()
    }

    fn quarantine_database(&self) -> Result<(), StoreFault> {
        for ending in DATABASE_ENDINGS {
            let file = with_ending(&self.layout.database, ending);
            if exists(&file) {
                self.set.take_in(&file, self.set.database(ending))?;
            }
        }
        Ok(())
    }

    /// Moves the files of a state into quarantine that is kept by another engine now.
    pub(crate) fn quarantine_moved(&self) -> Result<(), StoreFault> {
        if self.note.from == Storage::Sqlite || self.note.to == Storage::Postgres {
            self.quarantine_database()?;
        }
        if self.note.to == Storage::Postgres && exists(&self.layout.journal) {
            self.set.take_in(&self.layout.journal, self.set.journal())?;
        }
        self.set.sync()?;
        self.sync_places()?;
        self.clean_up()
    }

    /// Removes the note, and what is left beside the new state.
    pub(crate) fn clean_up(&self) -> Result<(), StoreFault> {
        Note::remove(self.layout)?;
        remove_staging(self.layout);
        self.set.remove_if_unused();
        Ok(())
    }

    /// Moves everything back where it was: the database last, so that nobody opens it without its log.
    pub(crate) fn revert(&self, known: Option<&KnownStores>) -> Result<(), StoreFault> {
        let (layout, staged) = (self.layout, staged(self.layout));
        let brings_journal = self.note.from == self.note.to || self.note.from == Storage::Postgres;
        // A move installs before its settings count, so that its database may be in place, with a log of its own.
        let moved_in = self.note.from != self.note.to && self.note.to == Storage::Sqlite && self.is_installed();
        if moved_in {
            for ending in DATABASE_ENDINGS {
                let file = with_ending(&layout.database, ending);
                if exists(&file) {
                    rename(&file, &with_ending(&staged.database, ending))?;
                }
            }
        }
        if brings_journal && exists(&layout.journal) && !exists(&staged.journal) {
            rename(&layout.journal, &staged.journal)?;
        }
        if exists(&self.set.journal()) && !exists(&layout.journal) {
            rename(&self.set.journal(), &layout.journal)?;
        }
        for ending in DATABASE_ENDINGS.into_iter().rev() {
            let (from, to) = (self.set.database(ending), with_ending(&layout.database, ending));
            if exists(&from) && !exists(&to) {
                rename(&from, &to)?;
            }
        }
        self.sync_places()?;
        if let Some(old) = &self.note.old {
            make_head_known(layout, known, old);
        }
        // A shared state is only unsealed by the machine that has the note; one of this machine without it, too.
        if self.note.from == Storage::Postgres {
            PostgresStore::open(layout, &EngineSettings::default())?.unseal()?;
        }
        Note::remove(layout)?;
        if self.note.from == Storage::Sqlite {
            unseal_database(layout)?;
        }
        remove_staging(layout);
        self.set.remove_if_unused();
        Ok(())
    }

    /// Reverts after a failure, and returns what to say about it.
    pub(crate) fn give_up(&self, fault: StoreFault) -> StoreFault {
        match self.revert(None) {
            Ok(()) => fault,
            Err(_) => StoreFault::Io {
                action: format!("`tl {}` was interrupted; the next command finishes or reverts it", self.note.command),
                source: fault.into(),
            },
        }
    }

    /// Makes the renames durable.
    fn sync_places(&self) -> Result<(), StoreFault> {
        let mut folders = vec![folder_of(&self.layout.journal), folder_of(&self.layout.database)];
        folders.dedup();
        for folder in folders.into_iter().filter(|folder| folder.is_dir()) {
            sync_folder(folder).map_err(|error| io_fault("cannot write", folder, error))?;
        }
        Ok(())
    }
}

/// Finishes or reverts a replacement that was interrupted, and takes a state into use again whose successor never came
/// to be.
///
/// # Errors
/// [`StoreFault`] when neither can be done now.
pub fn finish_interrupted(
    layout: &Layout,
    storage: Storage,
    known: Option<&KnownStores>,
) -> Result<Vec<Recovery>, StoreFault> {
    let _lock = rebuild_lock(layout)?;
    finish_locked(layout, storage, known)
}

/// The same while the rebuild lock is held.
pub(crate) fn finish_locked(
    layout: &Layout,
    storage: Storage,
    known: Option<&KnownStores>,
) -> Result<Vec<Recovery>, StoreFault> {
    let storage = if storage == Storage::Remote { Storage::Sqlite } else { storage };
    let told = |message: String| Ok(vec![Recovery { message }]);
    let Some(note) = Note::read(layout)? else {
        if storage == Storage::Sqlite && unseal_database(layout)? {
            return told("the state was sealed for a move that never came to be: it is in use again".to_owned());
        }
        return Ok(Vec::new());
    };
    let Some(set) = QuarantineSet::with_id(layout, &note.quarantine) else {
        Note::remove(layout)?;
        return Ok(Vec::new());
    };
    let swap = Swap { layout, note: &note, set: &set };
    let command = domain::planning_prompt::clean_line(&note.command);
    let reverted = || format!("`tl {command}` was interrupted and is reverted: the state is the one before it");
    if note.from != note.to {
        if storage == note.to && (note.from != Storage::Sqlite || database_is_out_of_use(layout)) {
            swap.quarantine_moved()?;
            return told(format!("`tl {command}` was interrupted and is finished now"));
        }
        if storage == note.from || storage == note.to {
            swap.revert(known)?;
            return told(reverted());
        }
        return Ok(Vec::new());
    }
    if swap.is_installed() {
        swap.clean_up()?;
        return Ok(Vec::new());
    }
    let _writers = match note.to {
        Storage::Json => Some(json::write_lock(layout, EngineSettings::default().patience)?),
        _ => None,
    };
    if may_finish(layout, &note) && swap.install(known).and_then(|()| swap.clean_up()).is_ok() {
        let operations = usize::try_from(note.new.operation.0).unwrap_or(usize::MAX);
        let operations = count(operations, "operation", "operations");
        let mut message = format!("`tl {command}` was interrupted and is finished now ({operations})");
        if set.folder().exists() {
            message.push_str(&format!("; the state before it is in {}", layout.relative(set.folder())));
        }
        return told(message);
    }
    if swap.is_installed() {
        return Ok(Vec::new());
    }
    swap.revert(known)?;
    told(reverted())
}

/// Says whether nobody can have worked on the old state since the note was written, and the new one is whole.
fn may_finish(layout: &Layout, note: &Note) -> bool {
    let place = if note.to == Storage::Sqlite { &layout.database } else { &layout.journal };
    let untouched = !exists(place)
        || match note.to {
            Storage::Sqlite => database_is_out_of_use(layout),
            _ => load_journal(&Journal::at(place)).ok().map(|there| there.chain_head()) == note.old,
        };
    untouched && staged_is_whole(layout, note)
}

/// Looks at what was verified before the note was written: a disk that lies about syncing may have lost it.
fn staged_is_whole(layout: &Layout, note: &Note) -> bool {
    let staged = staged(layout);
    let place = if exists(&staged.journal) { staged.clone() } else { layout.clone() };
    let journal = Journal::at(&place.journal);
    let Ok(Some(size)) = journal.size() else { return false };
    if !journal.ends_in(&note.new.store, size, note.new.hash).unwrap_or(false) {
        return false;
    }
    if note.to != Storage::Sqlite {
        return true;
    }
    let place = Layout { database: staged.database, ..place };
    let row = SqliteStore::open(&place, &EngineSettings::default()).and_then(|store| store.row());
    row.is_ok_and(|row| {
        let head = ChainHead { store: row.store.clone(), operation: row.head, hash: row.head_hash };
        head == note.new && row.journal_size == size
    })
}

/// Says whether the database is sealed, or gone.
fn database_is_out_of_use(layout: &Layout) -> bool {
    match SqliteStore::open(layout, &EngineSettings::default()).and_then(|store| store.row()) {
        Ok(row) => row.is_sealed(),
        Err(fault) => matches!(fault, StoreFault::Missing),
    }
}

/// Takes a sealed database into use again; says whether it was sealed.
fn unseal_database(layout: &Layout) -> Result<bool, StoreFault> {
    let settings = EngineSettings { mirror: false, ..EngineSettings::default() };
    let store = match SqliteStore::open(layout, &settings) {
        Ok(store) => store,
        // Then it is not the seal that keeps it from being used.
        Err(_) => return Ok(false),
    };
    match store.row() {
        Ok(row) if row.is_sealed() => store.unseal(),
        _ => Ok(false),
    }
}

/// Makes the end of a replaced hash chain known wherever the former one is remembered.
///
/// Called when the outcome is decided and before the last rename, so that a kill never leaves the new state with a memory of
/// the old one; with the old head when a replacement is reverted. The mirror is marked stale: the numbers of its operations
/// may mean other ones now.
pub(crate) fn make_head_known(layout: &Layout, _known: Option<&KnownStores>, _head: &ChainHead) {
    Mirror::new(&layout.mirror).mark_stale();
}

pub(crate) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Says whether there is a file; in doubt there is, so that nothing is taken for done that was not.
pub(crate) fn exists(path: &Path) -> bool {
    !matches!(path.symlink_metadata(), Err(error) if error.kind() == io::ErrorKind::NotFound)
}

fn rename(from: &Path, to: &Path) -> Result<(), StoreFault> {
    fs::rename(from, to).map_err(|error| io_fault("cannot write", to, error))
}

fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing test may panic")]
mod tests {
    use domain::settings::Settings;
    use rusqlite::params_from_iter;

    use super::*;
    use crate::recovery::{Trust, rebuild};
    use crate::relocation::{Place, Relocation, RelocationFault};

    struct Fixture {
        folder: tempfile::TempDir,
        layout: Layout,
        known: KnownStores,
    }

    impl Fixture {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let layout = Layout::new(folder.path(), &Settings::default());
            let known = KnownStores::in_directory(&folder.path().join("user"));
            crate::open::create(&layout, Storage::Sqlite, &known).unwrap();
            Self { folder, layout, known }
        }

        /// Says in the store's row which program may write it.
        fn set_min_writer(&self, min_writer: i64) {
            let row = SqliteStore::open(&self.layout, &EngineSettings::default()).unwrap().row().unwrap();
            let values = StoreRow { min_writer, ..row }.values();
            let sql = "UPDATE store SET store_id = ?1, min_reader = ?2, min_writer = ?3, head = ?4, head_hash = ?5, \
                       journal_size = ?6, next_node = ?7, node_total = ?8, sum = ?9";
            let connection = rusqlite::Connection::open(&self.layout.database).unwrap();
            connection.execute(sql, params_from_iter(values)).unwrap();
        }

        fn files(&self) -> Vec<PathBuf> {
            let mut folders = vec![self.folder.path().to_owned()];
            let mut files = Vec::new();
            while let Some(folder) = folders.pop() {
                for entry in fs::read_dir(folder).unwrap() {
                    let path = entry.unwrap().path();
                    if path.is_dir() { folders.push(path) } else { files.push(path) }
                }
            }
            files.sort();
            files
        }
    }

    fn cause(now: Timestamp) -> ReplacementCause<'static> {
        ReplacementCause { command: "rebuild", reason: QuarantineReason::Replaced, why: "a test".to_owned(), now }
    }

    #[test]
    fn a_state_only_a_newer_program_may_write_is_never_replaced() {
        let fixture = Fixture::new();
        let (layout, known) = (&fixture.layout, &fixture.known);
        let cargo = crate::transfer::load(layout, Storage::Sqlite).unwrap();
        fixture.set_min_writer(2);
        let files = fixture.files();
        let now = Timestamp::from_millis(0);

        let replaced = replace_state(layout, Storage::Sqlite, known, &cargo, &cause(now));
        assert!(matches!(replaced, Err(StoreFault::Newer { found: 2, .. })), "{replaced:?}");
        let place = |storage| Place { layout, storage };
        let moved = Relocation::prepare(place(Storage::Sqlite), place(Storage::Json), known).map(drop);
        assert!(matches!(moved, Err(RelocationFault::Store(StoreFault::Newer { .. }))), "{moved:?}");
        let rebuilt = rebuild(layout, Storage::Sqlite, "a test", Trust::Known(known), now);
        assert!(matches!(rebuilt, Err(StoreFault::Newer { .. })), "{rebuilt:?}");
        assert_eq!(fixture.files(), files);
    }

    #[test]
    fn a_note_that_is_older_than_what_was_done_since_changes_nothing() {
        let fixture = Fixture::new();
        let (layout, known) = (&fixture.layout, &fixture.known);
        let now = Timestamp::from_millis(0);
        let cargo = crate::transfer::load(layout, Storage::Sqlite).unwrap();
        build_staged(layout, Storage::Sqlite, &cargo, &BookContents::default(), true).unwrap();
        let manifest = Manifest::new(now, QuarantineReason::Replaced, "a test", None);
        let set = QuarantineSet::create(layout, &manifest).unwrap();
        let note = Note {
            format: 1,
            command: "restore-backup".to_owned(),
            at: now,
            from: Storage::Sqlite,
            to: Storage::Sqlite,
            quarantine: set.id,
            old: None,
            new: cargo.chain_head(),
        };
        note.write(layout).unwrap();
        // Not sealed: whoever worked on the state since then did not look for the note.
        let told = finish_interrupted(layout, Storage::Sqlite, Some(known)).unwrap();
        assert!(told[0].message.contains("is reverted"), "{told:?}");
        assert!(!Note::exists(layout) && !exists(&staging_folder(layout)));
        assert_eq!(crate::list_quarantine(layout).unwrap().len(), 0);
        assert!(crate::transfer::load(layout, Storage::Sqlite).unwrap().is_same(&cargo));
    }

    #[test]
    fn a_note_from_a_repository_reaches_no_file_outside() {
        let fixture = Fixture::new();
        let before = fixture.files();
        let note = r#"{"format":1,"command":"x","at":"2026-01-01T00:00:00Z","from":"sqlite","to":"sqlite",
            "quarantine":"../../..","old":null,"new":{"store":"x","operation":1,
            "hash":"0000000000000000000000000000000000000000000000000000000000000000"}}"#;
        fs::write(Note::path(&fixture.layout), note).unwrap();
        finish_interrupted(&fixture.layout, Storage::Sqlite, None).unwrap();
        let after: Vec<PathBuf> = fixture.files().into_iter().filter(|file| !file.ends_with("rebuild.lock")).collect();
        assert_eq!(after, before.into_iter().filter(|file| !file.ends_with("rebuild.lock")).collect::<Vec<_>>());
    }
}
