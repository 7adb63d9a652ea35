//! Git access: HEAD, reflog moves, uncommitted line counts, commits by message.
//!
//! HEAD and the reflog are read from files, without a process, because hooks read them.
//! Counting uncommitted lines and searching messages start one `git` process each.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::ports::{FileStamp, RepositoryChanges, StoreFault};

/// The commit HEAD points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitHead {
    NoRepository,
    /// A repository without any commit.
    Unborn,
    At(String),
}

/// One entry of HEAD's reflog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadMove {
    pub from: Option<String>,
    pub to: String,
    pub kind: HeadMoveKind,
    /// The subject of the commit message, if it was a commit.
    pub subject: String,
}

/// The command that moved HEAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadMoveKind {
    Commit,
    Amend,
    Merge,
    CherryPick,
    Revert,
    Rebase,
    /// Checkout, reset, pull and everything else that commits no local work.
    Other,
}

impl HeadMoveKind {
    /// Whether the move committed local work.
    #[must_use]
    pub fn commits_work(self) -> bool {
        // Not `Rebase`: it rewrites commits that were recognised when they were made.
        matches!(
            self,
            Self::Commit | Self::Amend | Self::Merge | Self::CherryPick | Self::Revert
        )
    }
}

/// Whether git tracks a file: by the index, not by a commit, because checkout, stash, reset and
/// `git rm` all update it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackedState {
    /// Not in the index, or excluded from the working tree by a sparse checkout.
    Untracked,
    /// In the index, with the stat data git recorded: git wrote it or compared it.
    Unchanged,
    /// In the index, and edited or deleted since.
    Changed,
}

/// Number of uncommitted changed lines of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChangedLines {
    /// Relative to the project.
    pub path: String,
    pub added: u64,
    pub removed: u64,
    pub untracked: bool,
    /// The former path of a moved file. Its lines are counted against the content it had there,
    /// and the former path has no entry of its own.
    pub moved_from: Option<String>,
    /// Whether the committed attributes mark the file as generated (`linguist-generated`) or as
    /// one without a readable diff (`-diff`).
    pub generated: bool,
}

/// A commit of the history, as far as the TDD cycle depends on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryCommit {
    pub hash: String,
    pub subject: String,
    /// Author time in seconds since 1970, which amend, rebase and cherry-pick keep.
    pub authored_at: i64,
    /// Commit time in seconds since 1970.
    pub committed_at: i64,
    /// The author's mail address.
    pub author: String,
    /// The commit that this one reverts, by its message.
    pub reverts: Option<String>,
    /// Whether it was committed under another name than the one this repository commits under.
    pub is_foreign: bool,
    /// Whether the files of its parent have the same content.
    #[serde(default)]
    pub is_empty: bool,
    /// Paths of the files whose content it changes.
    #[serde(default)]
    pub changed_files: Vec<String>,
}

impl HistoryCommit {
    /// Returns a key that a commit keeps when it is rebased or cherry-picked.
    #[must_use]
    pub fn change_key(&self) -> String {
        format!("{} {} {}", self.authored_at, self.author, self.subject)
    }
}

/// The commits that HEAD has and an earlier commit, the base, does not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitHistory {
    /// Parents before children, without merges.
    pub commits: Vec<HistoryCommit>,
    /// Commits of the base that HEAD does not have: reset, or rewritten.
    pub left: Vec<HistoryCommit>,
    /// Commit time of the base.
    pub base_committed_at: Option<i64>,
}

/// Read access to the git repository.
pub trait Git {
    /// Returns the commit HEAD points to. Reads files only.
    ///
    /// # Errors
    /// When the repository exists but cannot be read.
    fn read_head(&self) -> Result<GitHead, StoreFault>;

    /// Returns the operation in progress: `merge`, `rebase`, `cherry-pick`, `revert` or `bisect`.
    /// Reads files only.
    fn operation_in_progress(&self) -> Option<&'static str>;

    /// Returns the moves of HEAD since commit `since`, oldest first; `None` if the reflog does not
    /// reach back to it.
    ///
    /// # Errors
    /// When the repository cannot be read.
    fn head_moves_since(&self, since: &str) -> Result<Option<Vec<HeadMove>>, StoreFault>;

    /// Returns for each path whether git tracks it; `None` without a repository. Reads files only,
    /// where the index has a format we can parse.
    ///
    /// # Errors
    /// When the index cannot be read.
    fn tracked_states(&self, paths: &[String]) -> Result<Option<Vec<TrackedState>>, StoreFault>;

    /// Returns the checked-out branch; `None` without a repository or with a detached HEAD. Reads
    /// files only.
    fn current_branch(&self) -> Option<String>;

    /// Returns the stat data of git's index, which every git command that brings or takes files
    /// rewrites.
    fn index_stamp(&self) -> Option<FileStamp> {
        None
    }

    /// Returns the size of the log of HEAD's moves, which grows with every move; `None` without a log.
    fn head_log_size(&self) -> Option<u64> {
        None
    }

    /// Whether HEAD moved by commits and their amendments alone since its log had a size.
    fn has_only_commits_after(&self, _log_size: u64) -> bool {
        false
    }

    /// Returns the branch or commit that the last move of HEAD left, if that was a checkout. Reads
    /// files only.
    fn branch_left_last(&self) -> Option<String> {
        None
    }

    /// Returns the commits that were made in this working tree, cherry-picks and reverts included, as far as
    /// its reflog reaches. Reads files only.
    fn list_commits_made_here(&self) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// Counts the changed lines of every project file that differs from HEAD, including untracked
    /// files, excluding ignored ones and `.throughline`. Starts one process.
    ///
    /// With `paths` only those are counted, which is much cheaper in a large repository. A move is
    /// then recognised only if both its paths are named.
    ///
    /// # Errors
    /// When git is not installed or fails.
    fn count_uncommitted_lines(&self, paths: &[String]) -> Result<Vec<ChangedLines>, StoreFault>;

    /// Returns all project files that git tracks or would add, with an id of their content that a
    /// commit does not change. `None` without a repository. Starts up to three processes.
    ///
    /// # Errors
    /// When git is not installed or fails.
    fn list_file_contents(&self) -> Result<Option<BTreeMap<String, String>>, StoreFault> {
        Ok(None)
    }

    /// Whether the repository has more files than can be compared within the time of an event after a
    /// command.
    fn is_large(&self) -> bool {
        false
    }

    /// Returns the files that changed since a commit; `None` without a repository.
    fn repository_changes(&self) -> Option<&dyn RepositoryChanges> {
        None
    }

    /// Returns the commits that HEAD has and `base` does not; without a base, all of HEAD. `None` if
    /// there is no repository or the base is unknown. Starts a process unless HEAD is the base.
    ///
    /// # Errors
    /// When git is not installed or fails.
    fn commits_since(&self, base: Option<&str>) -> Result<Option<CommitHistory>, StoreFault> {
        let _ = base;
        Ok(None)
    }

    /// Passes on the names in a folder of the project on all local and remote-tracking branches and
    /// in the other working trees; one may come several times. Starts a process for each branch that
    /// moved since.
    ///
    /// # Errors
    /// When git is not installed or fails.
    fn visit_names_elsewhere(
        &self,
        folder: &str,
        each: &mut dyn FnMut(&str),
    ) -> Result<(), StoreFault> {
        // Without a repository there is no other branch.
        let _ = (folder, each);
        Ok(())
    }

    /// Returns those names, each once, sorted.
    ///
    /// # Errors
    /// When git is not installed or fails.
    fn list_names_elsewhere(&self, folder: &str) -> Result<Vec<String>, StoreFault> {
        let mut names = BTreeSet::new();
        self.visit_names_elsewhere(folder, &mut |name| {
            names.insert(name.to_owned());
        })?;
        Ok(names.into_iter().collect())
    }

    /// Returns the commits of all branches whose message contains `word`, newest first. Starts one
    /// process.
    ///
    /// # Errors
    /// When git is not installed or fails.
    fn find_commits_mentioning(&self, word: &str) -> Result<Vec<NamedCommit>, StoreFault> {
        // Without a repository nothing is found, which is not an error for a search.
        let _ = word;
        Ok(Vec::new())
    }

    /// Returns the tips that may be merged later: those of all worktrees, and of at most `most`
    /// local branches, the newest first. Starts one process per tip.
    ///
    /// # Errors
    /// When git is not installed or fails.
    fn list_open_branches(&self, most: usize) -> Result<Vec<OpenBranch>, StoreFault> {
        let _ = most;
        Ok(Vec::new())
    }

    /// Returns the files of the project that HEAD changed since it left `base`, a commit or branch.
    /// Starts two processes.
    ///
    /// # Errors
    /// When there is no such commit, or git is not installed or fails.
    fn list_changed_since(&self, base: &str) -> Result<Vec<String>, StoreFault> {
        let _ = base;
        Ok(Vec::new())
    }

    /// Returns the files of the project that would conflict if two commits were merged. Writes
    /// nothing to the repository. Starts one process.
    ///
    /// # Errors
    /// When git is not installed, is too old, or fails.
    fn predict_conflicts(&self, one: &str, other: &str) -> Result<Vec<String>, StoreFault> {
        let _ = (one, other);
        Ok(Vec::new())
    }
}

/// The tip of a branch or of a worktree's detached HEAD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenBranch {
    /// The branch; `None` for a detached HEAD.
    pub branch: Option<String>,
    pub commit: String,
    /// The top directory of the worktree it is checked out in.
    pub worktree: Option<String>,
    /// Whether it is checked out in this worktree.
    pub is_here: bool,
    /// The files of the project it changed since it left the commit that is checked out here.
    pub changed: Vec<String>,
}

/// A commit found by its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCommit {
    pub id: String,
    /// The first line of the message.
    pub subject: String,
}

/// Null implementation for projects outside a git repository.
#[derive(Clone, Copy, Debug)]
pub struct NoRepository;

impl Git for NoRepository {
    fn read_head(&self) -> Result<GitHead, StoreFault> {
        Ok(GitHead::NoRepository)
    }

    fn operation_in_progress(&self) -> Option<&'static str> {
        None
    }

    fn head_moves_since(&self, _since: &str) -> Result<Option<Vec<HeadMove>>, StoreFault> {
        Ok(None)
    }

    fn tracked_states(&self, _paths: &[String]) -> Result<Option<Vec<TrackedState>>, StoreFault> {
        Ok(None)
    }

    fn current_branch(&self) -> Option<String> {
        None
    }

    fn count_uncommitted_lines(&self, _paths: &[String]) -> Result<Vec<ChangedLines>, StoreFault> {
        Ok(Vec::new())
    }
}
