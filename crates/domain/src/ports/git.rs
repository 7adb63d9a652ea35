//! The repository the project lies in, as far as the work needs it.
//!
//! Reading where HEAD is and what moved it starts no process; counting uncommitted lines starts one.

use serde::{Deserialize, Serialize};

use crate::ports::StoreFault;

/// Where HEAD is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    NoRepository,
    /// A repository without a commit.
    Unborn,
    At(String),
}

/// HEAD moved once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadMove {
    pub from: Option<String>,
    pub to: String,
    pub kind: MoveKind,
    /// The first line of the commit's message, where it was a commit.
    pub subject: String,
}

/// What moved HEAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveKind {
    Commit,
    Amend,
    Merge,
    CherryPick,
    Revert,
    Rebase,
    /// A checkout, a reset, a pull and whatever else brings no work of ours.
    Other,
}

impl MoveKind {
    /// Says whether work of ours was committed by it.
    #[must_use]
    pub fn commits_work(self) -> bool {
        matches!(
            self,
            Self::Commit | Self::Amend | Self::Merge | Self::CherryPick | Self::Revert
        )
    }
}

/// Changed lines of one file that are not committed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedLines {
    /// Relative to the project.
    pub path: String,
    pub added: u64,
    pub removed: u64,
    pub untracked: bool,
}

/// Looks at the repository.
pub trait Git {
    /// Returns where HEAD is. Reads files only.
    ///
    /// # Errors
    /// When there is a repository that cannot be read.
    fn head(&self) -> Result<Head, StoreFault>;

    /// Returns what is under way: `merge`, `rebase`, `cherry-pick`, `revert`, `bisect`. Reads files only.
    fn under_way(&self) -> Option<&'static str>;

    /// Returns how HEAD came from `since` to where it is, oldest first; `None` when that is not known.
    ///
    /// # Errors
    /// When the repository cannot be read.
    fn moves_since(&self, since: &str) -> Result<Option<Vec<HeadMove>>, StoreFault>;

    /// Counts the changed lines of every file of the project that differs from HEAD, new files too, ignored ones
    /// and those in our own folder not; with `paths` only of those, which is much less work in a large repository. Starts one process.
    ///
    /// # Errors
    /// When git is not there or fails.
    fn uncommitted(&self, paths: &[String]) -> Result<Vec<ChangedLines>, StoreFault>;

    /// Returns the commits whose message holds `word`, the newest first, of all branches. Starts one process.
    ///
    /// # Errors
    /// When git is not there or fails.
    fn commits_naming(&self, word: &str) -> Result<Vec<NamedCommit>, StoreFault> {
        let _ = word;
        Ok(Vec::new())
    }
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCommit {
    pub id: String,
    /// The first line of its message.
    pub subject: String,
}

/// No repository: nothing is committed, and nothing is counted.
#[derive(Clone, Copy, Debug)]
pub struct NoRepository;

impl Git for NoRepository {
    fn head(&self) -> Result<Head, StoreFault> {
        Ok(Head::NoRepository)
    }

    fn under_way(&self) -> Option<&'static str> {
        None
    }

    fn moves_since(&self, _since: &str) -> Result<Option<Vec<HeadMove>>, StoreFault> {
        Ok(None)
    }

    fn uncommitted(&self, _paths: &[String]) -> Result<Vec<ChangedLines>, StoreFault> {
        Ok(Vec::new())
    }
}
