//! What changed in the repository since a commit, for comparing a plan with what was built.

use std::collections::BTreeSet;

use crate::time::Timestamp;

/// Looks at the repository's history and working tree. Nothing in the repository makes it run anything.
pub trait RepositoryChanges {
    /// Returns the newest commit on the present branch that is not younger than a moment.
    ///
    /// # Errors
    /// Why that cannot be said.
    fn commit_before(&self, moment: Timestamp) -> Result<String, String>;

    /// Returns the files of the project that differ between a commit and the working tree, new ones too, ignored ones
    /// not; relative to the project.
    ///
    /// # Errors
    /// Why that cannot be said.
    fn changed_since(&self, commit: &str) -> Result<BTreeSet<String>, String>;
}
