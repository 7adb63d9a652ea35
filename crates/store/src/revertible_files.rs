//! Plan files with rollback, for a use case that writes files before its operation is committed.

use std::cell::RefCell;

use domain::ports::{Entry, FileFault, FileLook, LookedAgain, PlanFiles, Reading};

/// Maximum size of a file that is reverted; a plan is never larger.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// Plan files that remember the previous content of everything written through them.
pub struct RevertibleFiles<'f> {
    files: &'f dyn PlanFiles,
    written: RefCell<Vec<Written>>,
}

/// A file that was written, with its content before and after; `None` where it did not exist.
struct Written {
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
    pub fn put_back(&self) {
        // In reverse, so that a file written twice ends with its oldest content.
        for Written {
            path,
            before,
            after,
        } in self.written.take().into_iter().rev()
        {
            // Edited since by the user or another process: their text is worth more than a clean
            // rollback.
            if self.text(&path) != Some(after) {
                continue;
            }
            // A file that cannot be reverted is found by the next scan and recorded as an edit.
            let _ = match before {
                Some(text) => self.files.replace(&path, &text),
                None => self.files.remove(&path),
            };
        }
    }

    /// Returns a file's text, `Some(None)` if it does not exist, `None` if it cannot be read.
    fn text(&self, path: &str) -> Option<Option<String>> {
        match self.files.read(path, MOST_BYTES) {
            Reading::Text { text, .. } => Some(Some(text)),
            Reading::Missing => Some(None),
            Reading::Unreadable { .. } => None,
        }
    }

    /// Runs `write` and remembers the file's previous content.
    fn writing(
        &self,
        path: &str,
        after: Option<&str>,
        write: impl FnOnce() -> Result<(), FileFault>,
    ) -> Result<(), FileFault> {
        // Read before the write and remembered after it: a failed write changed nothing.
        let before = self.text(path);
        write()?;
        if let Some(before) = before {
            let (path, after) = (path.to_owned(), after.map(str::to_owned));
            self.written.borrow_mut().push(Written {
                path,
                before,
                after,
            });
        }
        Ok(())
    }
}

impl PlanFiles for RevertibleFiles<'_> {
    fn look(&self, path: &str) -> FileLook {
        self.files.look(path)
    }

    fn lead(&self, directory: Option<&str>, path: &str) -> Option<String> {
        self.files.lead(directory, path)
    }

    fn read(&self, path: &str, max_bytes: u64) -> Reading {
        self.files.read(path, max_bytes)
    }

    fn list(&self, folder: &str) -> Vec<Entry> {
        self.files.list(folder)
    }

    fn note_looks(&self) {
        self.files.note_looks();
    }

    fn keep_looks(&self, mark: &str) {
        self.files.keep_looks(mark);
    }

    fn look_again(&self, most: usize) -> Option<LookedAgain> {
        self.files.look_again(most)
    }

    fn replace(&self, path: &str, text: &str) -> Result<(), FileFault> {
        self.writing(path, Some(text), || self.files.replace(path, text))
    }

    fn create(&self, path: &str, text: &str) -> Result<(), FileFault> {
        self.writing(path, Some(text), || self.files.create(path, text))
    }

    fn remove(&self, path: &str) -> Result<(), FileFault> {
        self.writing(path, None, || self.files.remove(path))
    }

    fn remove_empty_folder(&self, folder: &str) {
        self.files.remove_empty_folder(folder);
    }
}
