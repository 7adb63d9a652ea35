//! A place to try things out: the state copied into memory, the files as they are, nothing written.

use domain::ports::{Entry, FileFault, FileLook, PlanFiles, Reading, Store, StoreFault};

use crate::engine::EngineSettings;
use crate::json::JsonStore;
use crate::layout::Layout;
use crate::memory::MemoryStore;

/// Returns a copy of a project's state that lives as long as the process.
///
/// # Errors
/// [`StoreFault`] when the journal cannot be read.
pub fn copy_in_memory(layout: &Layout) -> Result<Box<dyn Store>, StoreFault> {
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
