//! Files that can be put back: for a use case whose operation may not come to be although its files are written.

use std::cell::RefCell;

use domain::ports::{Entry, FileFault, FileLook, LookedAgain, PlanFiles, Reading};

/// A plan is never larger; what is, is not put back.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// The files of a project, with what was in them before they were written through this.
pub struct RevertibleFiles<'f> {
    files: &'f dyn PlanFiles,
    written: RefCell<Vec<Written>>,
}

struct Written {
    path: String,
    before: Option<String>,
    after: Option<String>,
}

impl<'f> RevertibleFiles<'f> {
    /// Returns files that can be put back.
    #[must_use]
    pub fn new(files: &'f dyn PlanFiles) -> Self {
        Self {
            files,
            written: RefCell::default(),
        }
    }

    /// Puts every file back that is still as it was written here.
    pub fn put_back(&self) {
        for Written {
            path,
            before,
            after,
        } in self.written.take().into_iter().rev()
        {
            if self.text(&path) != Some(after) {
                continue;
            }
            // What cannot be put back is noticed as an edit, like any other.
            let _ = match before {
                Some(text) => self.files.replace(&path, &text),
                None => self.files.remove(&path),
            };
        }
    }

    /// Returns a file's text, or that it is not there; nothing when that cannot be said.
    fn text(&self, path: &str) -> Option<Option<String>> {
        match self.files.read(path, MOST_BYTES) {
            Reading::Text { text, .. } => Some(Some(text)),
            Reading::Missing => Some(None),
            Reading::Unreadable { .. } => None,
        }
    }

    fn writing(
        &self,
        path: &str,
        after: Option<&str>,
        write: impl FnOnce() -> Result<(), FileFault>,
    ) -> Result<(), FileFault> {
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
