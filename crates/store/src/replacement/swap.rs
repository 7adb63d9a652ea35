//! The swap: its recovery note, and renames that are idempotent and can be reverted.
//!
//! Takes no locks: the caller holds the rebuild lock, and has locked or sealed the old state.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use domain::ports::StoreFault;
use domain::settings::Storage;
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::interrupted::unseal_database;
use super::staging::{remove_staging, staged};
use super::{RECOVERY, forget_new_head, make_head_known};
use crate::durable::{Durability, replace, sync_folder};
use crate::engine::{EngineSettings, io_fault};
use crate::known_stores::KnownStores;
use crate::layout::Layout;
use crate::postgres::PostgresStore;
use crate::quarantine::{ChainHead, QuarantineSet};

/// Suffixes of SQLite's files. The database comes first, so that it is never left without its WAL.
pub(crate) const DATABASE_ENDINGS: [&str; 3] = ["", "-wal", "-shm"];

/// The recovery note, `replacing.json`.
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
    /// Returns the path of the note.
    pub(super) fn path(layout: &Layout) -> PathBuf {
        folder_of(&layout.journal).join("replacing.json")
    }

    /// Whether there is a note.
    pub(crate) fn exists(layout: &Layout) -> bool {
        exists(&Self::path(layout))
    }

    /// Reads the note; one in another format is removed.
    pub(super) fn read(layout: &Layout) -> Result<Option<Self>, StoreFault> {
        let path = Self::path(layout);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_fault("cannot read", &path, error)),
        };
        // Written atomically, so an unreadable note came from elsewhere (a repository, another
        // version) and describes nothing that happened here.
        let note = serde_json::from_slice::<Self>(&bytes)
            .ok()
            .filter(|note| note.format == 1);
        if note.is_none() {
            Self::remove(layout)?;
        }
        Ok(note)
    }

    /// Writes the note, synced.
    pub(crate) fn write(&self, layout: &Layout) -> Result<(), StoreFault> {
        let path = Self::path(layout);
        let written = serde_json::to_vec_pretty(self)
            .map_err(io::Error::other)
            .and_then(|bytes| replace(&path, &bytes, Durability::Synced));
        written.map_err(|error| {
            // It may exist although its folder could not be synced, and must not describe a swap
            // that did not begin.
            let _ = Self::remove(layout);
            io_fault("cannot write", &path, error)
        })
    }

    /// Removes the note, synced.
    pub(super) fn remove(layout: &Layout) -> Result<(), StoreFault> {
        let path = Self::path(layout);
        let removed = remove_file(&path).and_then(|()| sync_folder(folder_of(&path)));
        removed.map_err(|error| io_fault("cannot remove", &path, error))
    }
}

/// The renames of one replacement. Each is idempotent, so that a resumed swap repeats them.
pub(crate) struct Swap<'s> {
    pub(crate) layout: &'s Layout,
    pub(crate) note: &'s Note,
    pub(crate) set: &'s QuarantineSet,
}

impl Swap<'_> {
    /// Whether the last rename was done, so that the new state is in place.
    pub(super) fn is_installed(&self) -> bool {
        !exists(&self.staged_last())
    }

    /// Returns the staged file that is renamed last.
    fn staged_last(&self) -> PathBuf {
        let staged = staged(self.layout);
        if self.note.to == Storage::Sqlite {
            staged.database
        } else {
            staged.journal
        }
    }

    /// Moves the old files into quarantine and the staged ones into place.
    pub(crate) fn install(&self, known: Option<&KnownStores>) -> Result<(), StoreFault> {
        let (layout, staged) = (self.layout, staged(self.layout));
        // Also false when resuming after the journal's rename: then the journal in place is the new
        // one.
        let brings_journal = exists(&staged.journal);
        self.quarantine_database()?;
        if brings_journal && exists(&layout.journal) {
            self.set.take_in(&layout.journal, self.set.journal())?;
        }
        // The old files must be safe in quarantine before anything takes their place.
        self.set.sync()?;
        if self.note.to == Storage::Sqlite {
            if let Some(folder) = layout.database.parent() {
                crate::private::create_directory(folder)
                    .map_err(|error| io_fault("cannot create", folder, error))?;
            }
            if brings_journal {
                rename(&staged.journal, &layout.journal)?;
            }
            self.sync_places()?;
            // Before the last rename, see `record_known_head`.
            self.make_new_head_known(known);
            rename(&staged.database, &layout.database)?;
        } else {
            self.make_new_head_known(known);
            rename(&staged.journal, &layout.journal)?;
        }
        self.sync_places()
    }

    /// Records the new head as known, except after an automatic recovery: operations it could not
    /// restore are reported until a person accepts the loss.
    fn make_new_head_known(&self, known: Option<&KnownStores>) {
        make_head_known(
            self.layout,
            known.filter(|_| self.note.command != RECOVERY),
            &self.note.new,
        );
    }

    /// Moves the database and its companion files into quarantine.
    fn quarantine_database(&self) -> Result<(), StoreFault> {
        for ending in DATABASE_ENDINGS {
            let file = with_ending(&self.layout.database, ending);
            if exists(&file) {
                self.set.take_in(&file, self.set.database(ending))?;
            }
        }
        Ok(())
    }

    /// Quarantines the files of a state that was moved to another engine.
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

    /// Removes the note and the staging folder.
    pub(crate) fn clean_up(&self) -> Result<(), StoreFault> {
        // First: staged files without a note are leftovers, which the next build removes.
        Note::remove(self.layout)?;
        remove_staging(self.layout);
        self.set.remove_if_unused();
        Ok(())
    }

    /// Reverts the swap: moves everything back, the database last, so that no process opens it
    /// without its WAL.
    pub(crate) fn revert(&self, known: Option<&KnownStores>) -> Result<(), StoreFault> {
        let (layout, staged) = (self.layout, staged(self.layout));
        let brings_journal = self.note.from == self.note.to || self.note.from == Storage::Postgres;
        // A move installs its database before the settings change, so the database may be in place,
        // with a WAL of its own.
        let moved_in = self.note.from != self.note.to
            && self.note.to == Storage::Sqlite
            && self.is_installed();
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
            let (from, to) = (
                self.set.database(ending),
                with_ending(&layout.database, ending),
            );
            if exists(&from) && !exists(&to) {
                rename(&from, &to)?;
            }
        }
        self.sync_places()?;
        if let Some(old) = &self.note.old {
            forget_new_head(layout, known, &self.note.new, old);
        }
        // Before the note is removed: a shared state is only unsealed by the machine that has the
        // note. A local database is unsealed by any process that finds it sealed without a note.
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

    /// Reverts after a failure, and returns the fault to report.
    pub(crate) fn give_up(&self, known: Option<&KnownStores>, fault: StoreFault) -> StoreFault {
        match self.revert(known) {
            Ok(()) => fault,
            Err(_) => StoreFault::Io {
                action: format!(
                    "`tl {}` was interrupted; the next command finishes or reverts it",
                    self.note.command
                ),
                source: fault.into(),
            },
        }
    }

    /// Syncs the folders of journal and database, so that the renames survive a power cut.
    fn sync_places(&self) -> Result<(), StoreFault> {
        let mut folders = vec![
            folder_of(&self.layout.journal),
            folder_of(&self.layout.database),
        ];
        folders.dedup();
        for folder in folders.into_iter().filter(|folder| folder.is_dir()) {
            sync_folder(folder).map_err(|error| io_fault("cannot write", folder, error))?;
        }
        Ok(())
    }
}

/// Appends a suffix to a path.
pub(crate) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Whether a path may exist. An error other than "not found" counts as existing, so that no step is
/// taken for done that was not.
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

pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}
