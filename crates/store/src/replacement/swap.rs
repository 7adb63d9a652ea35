//! The recovery note and the renames of a swap, each of which can be repeated or reverted.

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

/// SQLite's files, by what is added to the database's name; the database itself first, so that it is gone before its log.
pub(crate) const DATABASE_ENDINGS: [&str; 3] = ["", "-wal", "-shm"];

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
    pub(super) fn path(layout: &Layout) -> PathBuf {
        folder_of(&layout.journal).join("replacing.json")
    }

    /// Says whether there is one.
    pub(crate) fn exists(layout: &Layout) -> bool {
        exists(&Self::path(layout))
    }

    /// Reads it; one that is not ours says nothing, and is removed.
    pub(super) fn read(layout: &Layout) -> Result<Option<Self>, StoreFault> {
        let path = Self::path(layout);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_fault("cannot read", &path, error)),
        };
        let note = serde_json::from_slice::<Self>(&bytes)
            .ok()
            .filter(|note| note.format == 1);
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

    pub(super) fn remove(layout: &Layout) -> Result<(), StoreFault> {
        let path = Self::path(layout);
        let removed = remove_file(&path).and_then(|()| sync_folder(folder_of(&path)));
        removed.map_err(|error| io_fault("cannot remove", &path, error))
    }
}

/// The renames of one replacement; each can be repeated.
pub(crate) struct Swap<'s> {
    pub(crate) layout: &'s Layout,
    pub(crate) note: &'s Note,
    pub(crate) set: &'s QuarantineSet,
}

impl Swap<'_> {
    /// Says whether the last rename was done: the new state is in its place.
    pub(super) fn is_installed(&self) -> bool {
        !exists(&self.staged_last())
    }

    fn staged_last(&self) -> PathBuf {
        let staged = staged(self.layout);
        if self.note.to == Storage::Sqlite {
            staged.database
        } else {
            staged.journal
        }
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
                crate::private::create_directory(folder)
                    .map_err(|error| io_fault("cannot make", folder, error))?;
            }
            if brings_journal {
                rename(&staged.journal, &layout.journal)?;
            }
            self.sync_places()?;
            self.make_new_head_known(known);
            rename(&staged.database, &layout.database)?;
        } else {
            self.make_new_head_known(known);
            rename(&staged.journal, &layout.journal)?;
        }
        self.sync_places()
    }

    /// A recovery is nobody's decision: operations that it could not bring back are reported until a person accepts it.
    fn make_new_head_known(&self, known: Option<&KnownStores>) {
        make_head_known(
            self.layout,
            known.filter(|_| self.note.command != RECOVERY),
            &self.note.new,
        );
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

    /// Makes the renames durable.
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

pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}
