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

use super::interrupted::unseal_if_sealed;
use super::staging::{remove_staging_folder, staged_layout};
use super::{RECOVERY_COMMAND, record_known_head, revert_known_head};
use crate::durable::{Durability, parent_folder, replace_file, sync_folder};
use crate::engine::{EngineSettings, io_fault};
use crate::known_stores::KnownStores;
use crate::layout::Layout;
use crate::postgres::PostgresStore;
use crate::quarantine::{ChainHead, QuarantineSet};

/// Suffixes of SQLite's files. The database comes first, so that it is never left without its WAL.
pub(crate) const DATABASE_SUFFIXES: [&str; 3] = ["", "-wal", "-shm"];

/// The recovery note, `replacing.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SwapNote {
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

impl SwapNote {
    /// Returns the path of the note.
    pub(super) fn path(layout: &Layout) -> PathBuf {
        parent_folder(&layout.journal).join("replacing.json")
    }

    /// Whether there is a note.
    pub(crate) fn exists(layout: &Layout) -> bool {
        may_exist(&Self::path(layout))
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
            .and_then(|bytes| replace_file(&path, &bytes, Durability::Synced));
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
        let removed =
            remove_file_if_present(&path).and_then(|()| sync_folder(parent_folder(&path)));
        removed.map_err(|error| io_fault("cannot remove", &path, error))
    }
}

/// The renames of one replacement. Each is idempotent, so that a resumed swap repeats them.
pub(crate) struct Swap<'s> {
    pub(crate) layout: &'s Layout,
    pub(crate) note: &'s SwapNote,
    pub(crate) set: &'s QuarantineSet,
}

impl Swap<'_> {
    /// Whether the last rename was done, so that the new state is in place.
    pub(super) fn is_installed(&self) -> bool {
        !may_exist(&self.last_staged_file())
    }

    /// Returns the staged file that is renamed last.
    fn last_staged_file(&self) -> PathBuf {
        let staged = staged_layout(self.layout);
        if self.note.to == Storage::Sqlite {
            staged.database
        } else {
            staged.journal
        }
    }

    /// Moves the old files into quarantine and the staged ones into place.
    pub(crate) fn install_staged(&self, known: Option<&KnownStores>) -> Result<(), StoreFault> {
        let (layout, staged) = (self.layout, staged_layout(self.layout));
        // Also false when resuming after the journal's rename: then the journal in place is the new
        // one.
        let brings_journal = may_exist(&staged.journal);
        self.quarantine_database()?;
        if brings_journal && may_exist(&layout.journal) {
            self.set
                .move_file_in(&layout.journal, self.set.journal_path())?;
        }
        // The old files must be safe in quarantine before anything takes their place.
        self.set.sync_to_disk()?;
        if self.note.to == Storage::Sqlite {
            if let Some(folder) = layout.database.parent() {
                crate::private_files::create_private_directory(folder)
                    .map_err(|error| io_fault("cannot create", folder, error))?;
            }
            if brings_journal {
                rename_file(&staged.journal, &layout.journal)?;
            }
            self.sync_folders()?;
            // Before the last rename, see `record_known_head`.
            self.record_new_head(known)?;
            rename_file(&staged.database, &layout.database)?;
        } else {
            self.record_new_head(known)?;
            rename_file(&staged.journal, &layout.journal)?;
        }
        self.sync_folders()
    }

    /// Records the new head as known, except after an automatic recovery: operations it could not
    /// restore are reported until a person accepts the loss.
    fn record_new_head(&self, known: Option<&KnownStores>) -> Result<(), StoreFault> {
        record_known_head(
            self.layout,
            known.filter(|_| self.note.command != RECOVERY_COMMAND),
            &self.note.new,
        )
    }

    /// Moves the database and its companion files into quarantine.
    fn quarantine_database(&self) -> Result<(), StoreFault> {
        for ending in DATABASE_SUFFIXES {
            let file = with_suffix(&self.layout.database, ending);
            if may_exist(&file) {
                self.set
                    .move_file_in(&file, self.set.database_path(ending))?;
            }
        }
        Ok(())
    }

    /// Quarantines the files of a state that was moved to another engine.
    pub(crate) fn quarantine_moved_files(&self) -> Result<(), StoreFault> {
        if self.note.from == Storage::Sqlite || self.note.to == Storage::Postgres {
            self.quarantine_database()?;
        }
        if self.note.to == Storage::Postgres && may_exist(&self.layout.journal) {
            self.set
                .move_file_in(&self.layout.journal, self.set.journal_path())?;
        }
        self.set.sync_to_disk()?;
        self.sync_folders()?;
        self.remove_swap_traces()
    }

    /// Removes the note and the staging folder.
    pub(crate) fn remove_swap_traces(&self) -> Result<(), StoreFault> {
        // First: staged files without a note are leftovers, which the next build removes.
        SwapNote::remove(self.layout)?;
        remove_staging_folder(self.layout);
        self.set.remove_if_empty();
        Ok(())
    }

    /// Reverts the swap: moves everything back, the database last, so that no process opens it
    /// without its WAL.
    pub(crate) fn revert_renames(&self, known: Option<&KnownStores>) -> Result<(), StoreFault> {
        let (layout, staged) = (self.layout, staged_layout(self.layout));
        let brings_journal = self.note.from == self.note.to || self.note.from == Storage::Postgres;
        // A move installs its database before the settings change, so the database may be in place,
        // with a WAL of its own.
        let moved_in = self.note.from != self.note.to
            && self.note.to == Storage::Sqlite
            && self.is_installed();
        if moved_in {
            for ending in DATABASE_SUFFIXES {
                let file = with_suffix(&layout.database, ending);
                if may_exist(&file) {
                    rename_file(&file, &with_suffix(&staged.database, ending))?;
                }
            }
        }
        if brings_journal && may_exist(&layout.journal) && !may_exist(&staged.journal) {
            rename_file(&layout.journal, &staged.journal)?;
        }
        if may_exist(&self.set.journal_path()) && !may_exist(&layout.journal) {
            rename_file(&self.set.journal_path(), &layout.journal)?;
        }
        for ending in DATABASE_SUFFIXES.into_iter().rev() {
            let (from, to) = (
                self.set.database_path(ending),
                with_suffix(&layout.database, ending),
            );
            if may_exist(&from) && !may_exist(&to) {
                rename_file(&from, &to)?;
            }
        }
        self.sync_folders()?;
        if let Some(old) = &self.note.old {
            revert_known_head(layout, known, &self.note.new, old);
        }
        // Before the note is removed: a shared state is only unsealed by the machine that has the
        // note. A local database is unsealed by any process that finds it sealed without a note.
        if self.note.from == Storage::Postgres {
            PostgresStore::open(layout, &EngineSettings::default())?.unseal_state()?;
        }
        SwapNote::remove(layout)?;
        if self.note.from == Storage::Sqlite {
            unseal_if_sealed(layout)?;
        }
        remove_staging_folder(layout);
        self.set.remove_if_empty();
        Ok(())
    }

    /// Reverts after a failure, and returns the fault to report.
    pub(crate) fn revert_after_fault(
        &self,
        known: Option<&KnownStores>,
        fault: StoreFault,
    ) -> StoreFault {
        match self.revert_renames(known) {
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
    fn sync_folders(&self) -> Result<(), StoreFault> {
        let mut folders = vec![
            parent_folder(&self.layout.journal),
            parent_folder(&self.layout.database),
        ];
        folders.dedup();
        for folder in folders.into_iter().filter(|folder| folder.is_dir()) {
            sync_folder(folder).map_err(|error| io_fault("cannot write", folder, error))?;
        }
        Ok(())
    }
}

/// Appends a suffix to a path.
pub(crate) fn with_suffix(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Whether a path may exist. An error other than "not found" counts as existing, so that no step is
/// taken for done that was not.
pub(crate) fn may_exist(path: &Path) -> bool {
    !matches!(path.symlink_metadata(), Err(error) if error.kind() == io::ErrorKind::NotFound)
}

fn rename_file(from: &Path, to: &Path) -> Result<(), StoreFault> {
    fs::rename(from, to).map_err(|error| io_fault("cannot write", to, error))
}

fn remove_file_if_present(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
