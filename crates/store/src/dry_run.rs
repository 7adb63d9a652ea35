//! Dry run: a copy of the state in memory, read-only plan files and decisions, so that nothing is
//! written.

use std::collections::BTreeSet;

use domain::decision::DecisionId;
use domain::ports::{
    DecisionFolder, DecisionListing, FileFault, FileReadResult, FileStatResult, FolderEntry,
    LookDepth, PlanFiles, StateMark, Store, StoreFault,
};
use domain::settings::Storage;
use domain::tree::FactMismatch;

use crate::engine::EngineSettings;
use crate::json::JsonStore;
use crate::layout::Layout;
use crate::memory::{MemoryState, MemoryStore};
use crate::postgres::PostgresStore;

/// Returns an in-memory copy of a project's state.
///
/// # Errors
/// [`StoreFault`] when its operations cannot be read.
pub fn copy_in_memory(layout: &Layout, storage: Storage) -> Result<Box<dyn Store>, StoreFault> {
    if storage == Storage::Postgres {
        let (store, entries) =
            PostgresStore::open(layout, &EngineSettings::default())?.load_all_entries()?;
        let mut state = MemoryState::new(store);
        for entry in &entries {
            state
                .apply_operation(entry)
                .map_err(|FactMismatch(what)| StoreFault::Damaged { what })?;
        }
        return Ok(Box::new(MemoryStore::from_state(state)));
    }
    // The journal of SQLite and of a replica has the same format, and replaying it takes no lock on
    // the database.
    let journal = JsonStore::open(layout, &EngineSettings::default())?;
    Ok(Box::new(MemoryStore::from_state(journal.load_state()?)))
}

/// Plan files that can be read; writes succeed without effect.
pub struct ReadOnlyFiles<'f>(&'f dyn PlanFiles);

impl<'f> ReadOnlyFiles<'f> {
    /// Returns a read-only view of these files.
    #[must_use]
    pub fn new(files: &'f dyn PlanFiles) -> Self {
        Self(files)
    }
}

impl PlanFiles for ReadOnlyFiles<'_> {
    fn stat_file(&self, path: &str) -> FileStatResult {
        self.0.stat_file(path)
    }

    fn resolve_path(&self, directory: Option<&str>, path: &str) -> Option<String> {
        self.0.resolve_path(directory, path)
    }

    fn read_file(&self, path: &str, max_bytes: u64) -> FileReadResult {
        self.0.read_file(path, max_bytes)
    }

    fn read_bytes(&self, path: &str, max_bytes: u64) -> Option<Vec<u8>> {
        self.0.read_bytes(path, max_bytes)
    }

    fn list_folder(&self, folder: &str) -> Vec<FolderEntry> {
        self.0.list_folder(folder)
    }

    // Reported as written: a dry run has to get as far as the real one would.
    fn replace_file(&self, _path: &str, _text: &str) -> Result<(), FileFault> {
        Ok(())
    }

    fn create_file(&self, _path: &str, _text: &str) -> Result<(), FileFault> {
        Ok(())
    }

    fn remove_file(&self, _path: &str) -> Result<(), FileFault> {
        Ok(())
    }
}

/// Decisions of a working tree as an adopted clone counts them, without adopting it.
pub struct AdoptedDecisions<'d>(&'d dyn DecisionFolder);

impl<'d> AdoptedDecisions<'d> {
    /// Returns such a view of these decisions.
    #[must_use]
    pub fn new(folder: &'d dyn DecisionFolder) -> Self {
        Self(folder)
    }
}

impl DecisionFolder for AdoptedDecisions<'_> {
    fn list_changed(
        &self,
        state: &StateMark,
        depth: LookDepth,
    ) -> Result<Option<DecisionListing>, StoreFault> {
        self.0.list_changed(state, depth)
    }

    fn list_all(&self) -> Result<BTreeSet<DecisionId>, StoreFault> {
        self.0.list_all()
    }

    fn remember_look(&self, _listing: &DecisionListing) {}

    fn made_here(&self) -> Result<BTreeSet<DecisionId>, StoreFault> {
        self.0.made_here()
    }

    fn mark_made_here(&self, _ids: &[DecisionId]) -> Result<(), StoreFault> {
        Ok(())
    }

    fn expect_write(&self, _state: &StateMark) {}

    fn is_adopted(&self) -> bool {
        true
    }

    fn mark_adopted(&self) -> Result<(), StoreFault> {
        Ok(())
    }

    fn list_other_places(&self) -> Result<Vec<BTreeSet<DecisionId>>, StoreFault> {
        self.0.list_other_places()
    }

    fn find_in_remote_history(
        &self,
        ids: &BTreeSet<DecisionId>,
    ) -> Result<BTreeSet<DecisionId>, StoreFault> {
        self.0.find_in_remote_history(ids)
    }
}
