//! Dry run: a copy of the state in memory and read-only plan files, so that nothing is written.

use domain::ports::{Entry, FileFault, FileLook, PlanFiles, Reading, Store, StoreFault};
use domain::settings::Storage;
use domain::tree::Misfit;

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
            PostgresStore::open(layout, &EngineSettings::default())?.entries()?;
        let mut state = MemoryState::new(store);
        for entry in &entries {
            state
                .apply(entry)
                .map_err(|Misfit(what)| StoreFault::Damaged { what })?;
        }
        return Ok(Box::new(MemoryStore::holding(state)));
    }
    // The journal of SQLite and of a replica has the same format, and replaying it takes no lock on
    // the database.
    let journal = JsonStore::open(layout, &EngineSettings::default())?;
    Ok(Box::new(MemoryStore::holding(journal.state()?)))
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
    fn look(&self, path: &str) -> FileLook {
        self.0.look(path)
    }

    fn lead(&self, directory: Option<&str>, path: &str) -> Option<String> {
        self.0.lead(directory, path)
    }

    fn read(&self, path: &str, max_bytes: u64) -> Reading {
        self.0.read(path, max_bytes)
    }

    fn list(&self, folder: &str) -> Vec<Entry> {
        self.0.list(folder)
    }

    // Reported as written: a dry run has to get as far as the real one would.
    fn replace(&self, _path: &str, _text: &str) -> Result<(), FileFault> {
        Ok(())
    }

    fn create(&self, _path: &str, _text: &str) -> Result<(), FileFault> {
        Ok(())
    }

    fn remove(&self, _path: &str) -> Result<(), FileFault> {
        Ok(())
    }
}
