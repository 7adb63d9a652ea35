//! File access to a project's plans: stat, read, list, atomic replace, and a scan cache.
//!
//! Every path is relative to the project. An implementation never leaves the project: not through
//! `..`, not through an absolute path, and not through a symlink in any part of the path.

use std::collections::BTreeMap;

/// Stat data that tells cheaply whether a file may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    pub size: u64,
    pub modified_ns: i64,
    pub changed_ns: i64,
    pub inode: u64,
}

/// Result of a stat, without reading the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileStatResult {
    Present(FileStamp),
    Missing,
    /// Exists, but is not a regular file: a symlink, a folder, a device.
    Refused(String),
    /// Transient error that says nothing about the file: I/O error, no permission, no free handle.
    Unavailable(String),
}

/// Result of reading a plan file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileReadResult {
    /// The text, with its stamp unless that is racy: a file modified in the same clock tick in
    /// which it was read could change again without a new mtime.
    Text {
        text: String,
        stamp: Option<FileStamp>,
    },
    Missing,
    Unreadable {
        why: String,
        /// Whether a retry may succeed (I/O error, no permission, no free handle). A transient
        /// error says nothing about the file and must not be recorded as a change.
        transient: bool,
    },
}

/// A directory entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderEntry {
    pub name: String,
    pub kind: FolderEntryKind,
}

/// The type of a directory entry; symlinks are never followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderEntryKind {
    File,
    Folder,
    Other,
}

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
pub enum FileFault {
    #[error("`{path}` is outside the project or reached through a link")]
    Outside { path: String },
    #[error("`{path}` cannot be reached: a part of it is a link or a file, not a folder")]
    NoFolder { path: String },
    #[error("`{path}` is already there")]
    Exists { path: String },
    #[error("cannot write `{path}`")]
    Io {
        path: String,
        #[source]
        source: std::io::Error,
    },
}

/// The paths of the scan cache that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckedPaths {
    All,
    /// At least this many, in turn: those after the last check's. All of them if there are not more,
    /// or if git's index is another one than when all were last compared.
    NextPart {
        least: usize,
        index: Option<FileStamp>,
    },
}

/// Result of comparing the scan cache with the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanCacheCheck {
    /// The mark the cache was saved under.
    pub mark: String,
    /// Number of paths in the cache.
    pub known: usize,
    /// Whether all of them were compared.
    pub is_whole: bool,
    /// Changed files, and folders with other names in them; folders end with a slash.
    pub changed: Vec<String>,
    /// The names in the changed folders as the cache has them, sorted, if all paths were compared.
    pub known_names: BTreeMap<String, Vec<String>>,
}

/// A change of one file, as part of several.
#[derive(Clone, Copy, Debug)]
pub struct FileChange<'t> {
    pub path: &'t str,
    pub action: FileAction<'t>,
}

/// What happens to a file.
#[derive(Clone, Copy, Debug)]
pub enum FileAction<'t> {
    /// As [`PlanFiles::replace_file`].
    Replace(&'t str),
    /// As [`PlanFiles::create_file`].
    Create(&'t str),
    /// As [`PlanFiles::remove_file`].
    Remove,
}

/// Reads and writes plan files.
pub trait PlanFiles {
    /// Stats a file without reading it.
    fn stat_file(&self, path: &str) -> FileStatResult;

    /// Resolves a path given by a host, relative to the project; `None` if it leads outside.
    ///
    /// Symlinks are followed, also when the last components do not exist yet.
    ///
    /// `path` is absolute or relative to `directory`; without one, to the project.
    fn resolve_path(&self, directory: Option<&str>, path: &str) -> Option<String>;

    /// Reads a file as text; a file larger than `max_bytes` is unreadable.
    fn read_file(&self, path: &str, max_bytes: u64) -> FileReadResult;

    /// Reads a file as it is; `None` if it is missing, no regular file, or larger than `max_bytes`.
    fn read_bytes(&self, path: &str, max_bytes: u64) -> Option<Vec<u8>> {
        // Optional: only pages with pictures read anything but text.
        let _ = (path, max_bytes);
        None
    }

    /// Lists a folder, sorted by name; a missing folder is empty.
    fn list_folder(&self, folder: &str) -> Vec<FolderEntry>;

    /// Passes on the names in a folder, in any order; a missing folder has none.
    fn visit_names(&self, folder: &str, each: &mut dyn FnMut(&str)) {
        for entry in self.list_folder(folder) {
            each(&entry.name);
        }
    }

    /// Starts recording every stat and every listing, for [`Self::save_scan_cache`].
    fn start_scan_recording(&self) {}

    /// Saves what was recorded since [`Self::start_scan_recording`] as the scan cache, under a mark;
    /// without a recording, the cache that [`Self::check_scan_cache`] just compared, with the stamps
    /// of the files that changed.
    ///
    /// A local cache: losing it costs a full scan.
    fn save_scan_cache(&self, mark: &str) {
        // Optional: fakes and engines without a cache scan everything each time.
        let _ = mark;
    }

    /// Compares the scan cache or a part of it with the files, and returns its mark and the changed
    /// paths.
    ///
    /// `None` if there is no cache, or if more paths changed than `most` returns for the number of
    /// those in the cache: a full scan is then as cheap.
    fn check_scan_cache(
        &self,
        extent: CheckedPaths,
        most: fn(usize) -> usize,
    ) -> Option<ScanCacheCheck> {
        // No cache: the caller scans everything.
        let _ = (extent, most);
        None
    }

    /// Replaces a file atomically: after a crash it has the old or the new content, never a
    /// mixture.
    ///
    /// # Errors
    /// [`FileFault`]; the file is then unchanged.
    fn replace_file(&self, path: &str, text: &str) -> Result<(), FileFault>;

    /// Creates a new file, durably.
    ///
    /// # Errors
    /// [`FileFault::Exists`] when the file exists; nothing is overwritten.
    fn create_file(&self, path: &str, text: &str) -> Result<(), FileFault>;

    /// Creates a new file that a power cut may still take, until [`Self::sync_file`]. For a file that
    /// is written while the state is locked: a sync takes longer than all the rest.
    ///
    /// # Errors
    /// As [`Self::create_file`].
    fn create_unsynced_file(&self, path: &str, text: &str) -> Result<(), FileFault> {
        self.create_file(path, text)
    }

    /// Makes a file and its name durable.
    ///
    /// # Errors
    /// [`FileFault`]; the file may be lost in a power cut.
    fn sync_file(&self, path: &str) -> Result<(), FileFault> {
        // Nothing to do where `create_unsynced_file` is `create_file`.
        let _ = path;
        Ok(())
    }

    /// Deletes a file. The caller must have saved its text as a version first.
    ///
    /// # Errors
    /// [`FileFault`]; the file is then unchanged.
    fn remove_file(&self, path: &str) -> Result<(), FileFault>;

    /// Applies changes of different files, with one result for each. Each is as atomic and, when
    /// this returns, as durable as if it were made alone; together they need fewer syncs. Files are
    /// written before any is removed.
    ///
    /// `confirm` is called with the index of a change right before it takes effect; one that it
    /// refuses is left out and counts as done.
    fn apply_changes(
        &self,
        changes: &[FileChange<'_>],
        confirm: &mut dyn FnMut(usize) -> bool,
    ) -> Vec<Result<(), FileFault>> {
        let mut results: Vec<Result<(), FileFault>> = changes.iter().map(|_| Ok(())).collect();
        for removes in [false, true] {
            for (index, change) in changes.iter().enumerate() {
                if matches!(change.action, FileAction::Remove) == removes && confirm(index) {
                    results[index] = match change.action {
                        FileAction::Replace(text) => self.replace_file(change.path, text),
                        FileAction::Create(text) => self.create_file(change.path, text),
                        FileAction::Remove => self.remove_file(change.path),
                    };
                }
            }
        }
        results
    }

    /// Deletes a folder if it is empty. Failing to is harmless.
    fn remove_empty_folder(&self, folder: &str) {
        // Cosmetic, therefore without a result: an empty folder left behind changes no plan.
        let _ = folder;
    }
}
