//! The plan files of a project.
//!
//! Every path is relative to the project. An implementation never leaves the project: not through
//! `..`, not through an absolute path, and not through a link in any part of the path.

/// What tells cheaply whether a file may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    pub size: u64,
    pub modified_ns: i64,
    pub changed_ns: i64,
    pub inode: u64,
}

/// What a look at a path showed, without reading the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileLook {
    Present(FileStamp),
    Missing,
    /// There, but not to be read: a link, a folder, a device.
    Refused(String),
    /// It cannot be said now what is there: an I/O error, no permission, no free file handle.
    Unavailable(String),
}

/// What reading a plan file gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The text, and the stamp if it is safe to trust later: a file changed in the same tick of the
    /// clock in which it was read has none.
    Text {
        text: String,
        stamp: Option<FileStamp>,
        modified_ns: i64,
    },
    Missing,
    Unreadable {
        why: String,
        /// Whether another try may succeed (an I/O error, no permission, no free file handle): then it says nothing
        /// about the file, and must not be recorded as a change of it.
        transient: bool,
    },
}

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    pub kind: EntryKind,
}

/// What an entry is; links are never followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Folder,
    Other,
}

/// A file could not be written.
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

/// What a second look at everything showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookedAgain {
    /// Under which the first one was kept.
    pub mark: String,
    /// How many paths were looked at.
    pub looked: usize,
    /// What is not as it was then; a folder has its slash.
    pub changed: Vec<String>,
}

/// Reads and writes plan files.
pub trait PlanFiles {
    /// Looks at a file without reading it.
    fn look(&self, path: &str) -> FileLook;

    /// Returns where a path that someone else was given leads to: relative to the project, every link on
    /// the way followed, also where the last parts are not there yet. `None` when it leads outside.
    ///
    /// `path` is absolute or relative to `directory`; without one, to the project.
    fn lead(&self, directory: Option<&str>, path: &str) -> Option<String>;

    /// Reads a file as text, at most `max_bytes` of it.
    fn read(&self, path: &str, max_bytes: u64) -> Reading;

    /// Lists a folder, sorted by name; a folder that is not there is empty.
    fn list(&self, folder: &str) -> Vec<Entry>;

    /// Begins to note every look and every listing, for [`Self::keep_looks`].
    fn note_looks(&self) {}

    /// Keeps what looks and listings showed since [`Self::note_looks`], under a mark; without such, what was kept before and
    /// was found the same by [`Self::look_again`]. A cache of this machine: it may be lost.
    fn keep_looks(&self, mark: &str) {
        let _ = mark;
    }

    /// Looks again at everything that was kept, and returns the mark with the paths that show something else now.
    ///
    /// `None` when nothing is kept, or when more than `most` paths are others: one may as well look at everything.
    fn look_again(&self, most: usize) -> Option<LookedAgain> {
        let _ = most;
        None
    }

    /// Replaces a file: after a crash it is the old or the new one, never a mixture.
    ///
    /// # Errors
    /// [`FileFault`]; the file is then as it was.
    fn replace(&self, path: &str, text: &str) -> Result<(), FileFault>;

    /// Writes a file that is not there yet, durably.
    ///
    /// # Errors
    /// [`FileFault::Exists`] when there is one; nothing is overwritten.
    fn create(&self, path: &str, text: &str) -> Result<(), FileFault>;

    /// Takes a file away. Its text must be kept elsewhere first.
    ///
    /// # Errors
    /// [`FileFault`]; the file is then as it was.
    fn remove(&self, path: &str) -> Result<(), FileFault>;

    /// Takes a folder away if nothing is in it. One that stays does no harm.
    fn remove_empty_folder(&self, folder: &str) {
        let _ = folder;
    }
}
