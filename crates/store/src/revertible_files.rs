//! Plan files with rollback, for a use case that writes files before its operation is committed.

use std::cell::RefCell;

use domain::ports::{
    FileFault, FileReadResult, FileStatResult, FolderEntry, PlanFiles, ScanCacheCheck,
};

/// Maximum size of a file that is reverted; a plan is never larger.
const MAX_REVERTIBLE_BYTES: u64 = 64 * 1024 * 1024;

/// Plan files that remember the previous content of everything written through them.
pub struct RevertibleFiles<'f> {
    files: &'f dyn PlanFiles,
    written: RefCell<Vec<WrittenFile>>,
}

/// A file that was written, with its content before and after; `None` where it did not exist.
struct WrittenFile {
    path: String,
    before: Option<String>,
    after: Option<String>,
}

impl<'f> RevertibleFiles<'f> {
    /// Wraps plan files.
    #[must_use]
    pub fn new(files: &'f dyn PlanFiles) -> Self {
        Self {
            files,
            written: RefCell::default(),
        }
    }

    /// Reverts every file that still has the content written here.
    pub fn revert_all(&self) {
        // In reverse, so that a file written twice ends with its oldest content.
        for WrittenFile {
            path,
            before,
            after,
        } in self.written.take().into_iter().rev()
        {
            // Edited since by the user or another process: their text is worth more than a clean
            // rollback.
            if self.read_text(&path) != Some(after) {
                continue;
            }
            // A file that cannot be reverted is found by the next scan and recorded as an edit.
            let _ = match before {
                Some(text) => self.files.replace_file(&path, &text),
                None => self.files.remove_file(&path),
            };
        }
    }

    /// Returns a file's text, `Some(None)` if it does not exist, `None` if it cannot be read.
    fn read_text(&self, path: &str) -> Option<Option<String>> {
        match self.files.read_file(path, MAX_REVERTIBLE_BYTES) {
            FileReadResult::Text { text, .. } => Some(Some(text)),
            FileReadResult::Missing => Some(None),
            FileReadResult::Unreadable { .. } => None,
        }
    }

    /// Runs `write` and remembers the file's previous content.
    fn write_tracked(
        &self,
        path: &str,
        after: Option<&str>,
        write: impl FnOnce() -> Result<(), FileFault>,
    ) -> Result<(), FileFault> {
        // Read before the write and remembered after it: a failed write changed nothing.
        let before = self.read_text(path);
        write()?;
        if let Some(before) = before {
            let (path, after) = (path.to_owned(), after.map(str::to_owned));
            self.written.borrow_mut().push(WrittenFile {
                path,
                before,
                after,
            });
        }
        Ok(())
    }
}

impl PlanFiles for RevertibleFiles<'_> {
    fn stat_file(&self, path: &str) -> FileStatResult {
        self.files.stat_file(path)
    }

    fn resolve_path(&self, directory: Option<&str>, path: &str) -> Option<String> {
        self.files.resolve_path(directory, path)
    }

    fn read_file(&self, path: &str, max_bytes: u64) -> FileReadResult {
        self.files.read_file(path, max_bytes)
    }

    fn list_folder(&self, folder: &str) -> Vec<FolderEntry> {
        self.files.list_folder(folder)
    }

    fn start_scan_recording(&self) {
        self.files.start_scan_recording();
    }

    fn save_scan_cache(&self, mark: &str) {
        self.files.save_scan_cache(mark);
    }

    fn check_scan_cache(&self, most: usize) -> Option<ScanCacheCheck> {
        self.files.check_scan_cache(most)
    }

    fn replace_file(&self, path: &str, text: &str) -> Result<(), FileFault> {
        self.write_tracked(path, Some(text), || self.files.replace_file(path, text))
    }

    fn create_file(&self, path: &str, text: &str) -> Result<(), FileFault> {
        self.write_tracked(path, Some(text), || self.files.create_file(path, text))
    }

    fn remove_file(&self, path: &str) -> Result<(), FileFault> {
        self.write_tracked(path, None, || self.files.remove_file(path))
    }

    fn remove_empty_folder(&self, folder: &str) {
        self.files.remove_empty_folder(folder);
    }
}
