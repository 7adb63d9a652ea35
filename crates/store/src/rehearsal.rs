//! A place to try things out: the state copied into memory, the files as they are, nothing written.

use domain::ports::{Entry, FileFault, FileLook, PlanFiles, Reading, Store, StoreFault};
use domain::settings::Storage;
use domain::tree::Misfit;

use crate::engine::EngineSettings;
use crate::json::JsonStore;
use crate::layout::Layout;
use crate::memory::{MemoryState, MemoryStore};
use crate::postgres::PostgresStore;

/// Returns a copy of a project's state that lives as long as the process.
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
    let journal = JsonStore::open(layout, &EngineSettings::default())?;
    Ok(Box::new(MemoryStore::holding(journal.state()?)))
}

/// The files of a project, to be looked at only: what is written to them is forgotten.
pub struct ReadOnlyFiles<'f>(&'f dyn PlanFiles);

impl<'f> ReadOnlyFiles<'f> {
    /// Returns a view of files that cannot be changed.
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
