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
}
