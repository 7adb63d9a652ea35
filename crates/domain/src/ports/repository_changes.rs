//! Files changed since a commit, for reconciling a plan with what was built.

use std::collections::BTreeSet;

use crate::time::Timestamp;

/// Reads the repository's history and working tree. Nothing in the repository (hooks, filters,
/// config) can make it run a program.
pub trait RepositoryChanges {
    /// Returns the newest commit on the current branch that is not younger than a moment.
    ///
    /// # Errors
    /// The reason, as text.
    fn commit_before(&self, moment: Timestamp) -> Result<String, String>;

    /// Returns the project files that differ between a commit and the working tree, relative to the
    /// project. Includes untracked files, excludes ignored ones.
    ///
    /// # Errors
    /// The reason, as text.
    fn changed_files_since(&self, commit: &str) -> Result<BTreeSet<String>, String>;

    /// Returns the commits in the history of HEAD that changed a file of the project, newest first.
    ///
    /// # Errors
    /// The reason, as text.
    fn commits_of_file(&self, path: &str) -> Result<Vec<FileCommit>, String>;

    /// Returns the text of a file of the project in a commit.
    ///
    /// # Errors
    /// The reason, as text; also when the commit does not have the file.
    fn read_committed_file(&self, commit: &str, path: &str) -> Result<String, String>;
}

/// A commit that changed a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCommit {
    pub commit: String,
    /// What the commit is compared with to see what it changed: its first parent, or the empty tree.
    /// `None` where a shallow history ends.
    pub before: Option<String>,
}
