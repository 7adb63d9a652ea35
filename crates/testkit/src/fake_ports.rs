//! Ports that need no disk and no clock.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use domain::ports::{
    Clock, FileFault, FileReadResult, FileStamp, FileStatResult, FolderEntry, FolderEntryKind,
    PlanFiles,
};
use domain::time::Timestamp;

/// A clock that stands until it is told otherwise, then one second later.
#[derive(Debug)]
pub struct FakeClock {
    seconds: Cell<i64>,
}

impl Default for FakeClock {
    fn default() -> Self {
        Self {
            seconds: Cell::new(1),
        }
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        self.seconds.set(self.seconds.get() + 1);
        crate::timestamp(self.seconds.get())
    }
}

/// Plan files in memory.
#[derive(Debug, Default)]
pub struct FakeFiles {
    files: RefCell<BTreeMap<String, (String, i64)>>,
    writes: Cell<i64>,
    /// Files that can be seen and not read now, and files that cannot even be seen.
    unreadable: RefCell<BTreeSet<String>>,
    invisible: RefCell<BTreeSet<String>>,
}

impl FakeFiles {
    /// Writes a file as another program would.
    pub fn edit(&self, path: &str, text: &str) {
        self.writes.set(self.writes.get() + 1);
        self.files
            .borrow_mut()
            .insert(path.to_owned(), (text.to_owned(), self.writes.get()));
    }

    /// Lets every read of a file fail with an I/O error, until [`FakeFiles::recover`].
    pub fn fail_reads_of(&self, path: &str) {
        self.unreadable.borrow_mut().insert(path.to_owned());
    }

    /// Lets every look at a file fail with an I/O error, until [`FakeFiles::recover`].
    pub fn fail_looks_at(&self, path: &str) {
        self.invisible.borrow_mut().insert(path.to_owned());
    }

    /// Ends all I/O errors.
    pub fn recover(&self) {
        self.unreadable.borrow_mut().clear();
        self.invisible.borrow_mut().clear();
    }

    /// Removes a file as another program would.
    pub fn delete(&self, path: &str) {
        self.files.borrow_mut().remove(path);
    }

    /// Returns a file's text.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<String> {
        self.files.borrow().get(path).map(|(text, _)| text.clone())
    }

    /// Returns every path.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        self.files.borrow().keys().cloned().collect()
    }

    fn stamp(text: &str, written: i64) -> FileStamp {
        FileStamp {
            size: text.len() as u64,
            modified_ns: written,
            changed_ns: written,
            inode: 1,
        }
    }
}

impl PlanFiles for FakeFiles {
    fn stat_file(&self, path: &str) -> FileStatResult {
        if self.invisible.borrow().contains(path) {
            return FileStatResult::Unavailable("Input/output error".to_owned());
        }
        match self.files.borrow().get(path) {
            Some((text, written)) => FileStatResult::Present(Self::stamp(text, *written)),
            None => FileStatResult::Missing,
        }
    }

    fn resolve_path(&self, _directory: Option<&str>, path: &str) -> Option<String> {
        Some(path.trim_start_matches("/project/").to_owned())
            .filter(|path| !path.starts_with(['/', '.']))
    }

    fn read_file(&self, path: &str, max_bytes: u64) -> FileReadResult {
        if self.unreadable.borrow().contains(path) || self.invisible.borrow().contains(path) {
            return FileReadResult::Unreadable {
                why: "Input/output error".to_owned(),
                transient: true,
            };
        }
        match self.files.borrow().get(path) {
            None => FileReadResult::Missing,
            Some((text, _)) if text.len() as u64 > max_bytes => FileReadResult::Unreadable {
                why: "too large".to_owned(),
                transient: false,
            },
            Some((text, _)) if text.contains('\0') => FileReadResult::Unreadable {
                why: "binary".to_owned(),
                transient: false,
            },
            Some((text, written)) => FileReadResult::Text {
                text: text.clone(),
                stamp: Some(Self::stamp(text, *written)),
                modified_ns: *written,
            },
        }
    }

    fn list_folder(&self, folder: &str) -> Vec<FolderEntry> {
        let prefix = if folder.is_empty() {
            String::new()
        } else {
            format!("{folder}/")
        };
        let mut found: Vec<FolderEntry> = Vec::new();
        for path in self.files.borrow().keys() {
            let Some(rest) = path.strip_prefix(prefix.as_str()) else {
                continue;
            };
            let (name, kind) = match rest.split_once('/') {
                Some((name, _)) => (name, FolderEntryKind::Folder),
                None => (rest, FolderEntryKind::File),
            };
            if found.last().is_none_or(|last| last.name != name) {
                found.push(FolderEntry {
                    name: name.to_owned(),
                    kind,
                });
            }
        }
        found
    }

    fn replace_file(&self, path: &str, text: &str) -> Result<(), FileFault> {
        self.edit(path, text);
        Ok(())
    }

    fn create_file(&self, path: &str, text: &str) -> Result<(), FileFault> {
        if self.text(path).is_some() {
            return Err(FileFault::Exists {
                path: path.to_owned(),
            });
        }
        self.edit(path, text);
        Ok(())
    }

    fn remove_file(&self, path: &str) -> Result<(), FileFault> {
        self.delete(path);
        Ok(())
    }
}
