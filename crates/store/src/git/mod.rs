//! Read-only access to the project's git repository: HEAD, its moves, uncommitted lines, commits.
//!
//! HEAD, refs, reflog and index are parsed here without git: every hook event needs HEAD, and a few
//! small files answer in microseconds where a process takes milliseconds. A `git` process is
//! started only for what needs git itself, such as line counts. Nothing here writes to the
//! repository.

mod attributes;
mod branch_tips;
mod branches;
mod changes;
mod command;
mod commit_search;
mod decision_folder;
mod exclude;
mod head;
mod history;
mod index;
mod line_count_cache;
mod named_files;
mod other_branches;
mod process;
mod reflog;
mod repository_paths;
mod signing_key;
mod tracked_files;
mod uncommitted;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use domain::ports::{
    ChangedLines, CommitHistory, FileCommit, FileStamp, Git, GitHead, HeadMove, NamedCommit,
    OpenBranch, RepositoryChanges, StoreFault, TrackedState,
};
use domain::time::Timestamp;

use crate::plan_files::file_stamp;

pub use changes::GitChanges;
pub use decision_folder::DiskDecisions;
use line_count_cache::{CacheLookup, CountStart};
pub(crate) use repository_paths::{RepositoryPaths, read_first_line};
pub(crate) use signing_key::read_signing_key_setting;

/// Number of tracked files up to which all of them are compared after a command: a `stat` each, two to
/// three milliseconds together.
const MAX_FILES_OF_SMALL_REPOSITORY: u32 = 1_000;

/// The repository of one project, located on first use. Made again for every command and request: it
/// may appear or vanish while a server runs.
#[derive(Debug)]
pub struct DiskGit {
    root: PathBuf,
    place: OnceCell<Option<Rc<RepositoryPaths>>>,
}

impl DiskGit {
    /// Opens the repository around the project directory `root`. Does not touch the disk; a missing
    /// repository shows in the first query.
    #[must_use]
    pub fn open(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            place: OnceCell::new(),
        }
    }

    /// Adds ignore rules for a folder of the project to the repository's own (`info/exclude`), which hold on every
    /// branch; `rules` are relative to the folder. Returns whether they were not there yet.
    ///
    /// # Errors
    /// When the repository's rules cannot be read or written.
    pub fn exclude_on_all_branches(&self, folder: &str, rules: &str) -> Result<bool, StoreFault> {
        match self.find_repository()? {
            Some(place) => exclude::add_rules(&place, folder, rules),
            None => Ok(false),
        }
    }

    /// Returns the directories of the repository; `None` if there is none.
    pub(crate) fn find_repository(&self) -> Result<Option<Rc<RepositoryPaths>>, StoreFault> {
        if let Some(known) = self.place.get() {
            return Ok(known.clone());
        }
        let found = RepositoryPaths::find_repository(&self.root)?.map(Rc::new);
        Ok(self.place.get_or_init(|| found).clone())
    }
}

impl RepositoryChanges for DiskGit {
    fn commit_before(&self, moment: Timestamp) -> Result<String, String> {
        GitChanges::in_project(self.root.clone()).commit_before(moment)
    }

    fn changed_files_since(&self, commit: &str) -> Result<BTreeSet<String>, String> {
        GitChanges::in_project(self.root.clone()).changed_files_since(commit)
    }

    fn commits_of_file(&self, path: &str) -> Result<Vec<FileCommit>, String> {
        GitChanges::in_project(self.root.clone()).commits_of_file(path)
    }

    fn read_committed_file(&self, commit: &str, path: &str) -> Result<String, String> {
        GitChanges::in_project(self.root.clone()).read_committed_file(commit, path)
    }
}

impl Git for DiskGit {
    fn read_head(&self) -> Result<GitHead, StoreFault> {
        self.find_repository()?
            .map_or(Ok(GitHead::NoRepository), |place| {
                head::resolve_head(&place)
            })
    }

    fn operation_in_progress(&self) -> Option<&'static str> {
        head::operation_in_progress(&*self.find_repository().ok()??)
    }

    fn head_moves_since(&self, since: &str) -> Result<Option<Vec<HeadMove>>, StoreFault> {
        let Some(place) = self.find_repository()? else {
            return Ok(None);
        };
        let GitHead::At(now) = head::resolve_head(&place)? else {
            return Ok(None);
        };
        if now == since {
            return Ok(Some(Vec::new()));
        }
        // The reflog first: it names amends, resets and rebases, which the commit graph cannot tell
        // apart, and it costs no process. `core.logAllRefUpdates=false` leaves only the graph.
        match reflog::read_head_moves(&place, since, &now)? {
            Some(told) => Ok(told),
            None => history::read_head_moves(&place, since),
        }
    }

    fn head_log_size(&self) -> Option<u64> {
        reflog::log_size(&*self.find_repository().ok()??)
    }

    fn has_only_commits_after(&self, log_size: u64) -> bool {
        let place = self.find_repository().ok().flatten();
        place.is_some_and(|place| reflog::has_only_commits_after(&place, log_size))
    }

    fn tracked_states(&self, paths: &[String]) -> Result<Option<Vec<TrackedState>>, StoreFault> {
        self.find_repository()?
            .map(|place| tracked_files::read_tracked_states(&place, paths))
            .transpose()
    }

    fn current_branch(&self) -> Option<String> {
        head::read_branch_name(&*self.find_repository().ok()??)
    }

    fn index_stamp(&self) -> Option<FileStamp> {
        let place = self.find_repository().ok()??;
        let stat = rustix::fs::stat(place.own.join("index")).ok()?;
        Some(file_stamp(&stat))
    }

    fn list_commits_made_here(&self) -> BTreeSet<String> {
        let place = self.find_repository().ok().flatten();
        place.map_or_else(BTreeSet::new, |place| reflog::list_commits(&place))
    }

    fn branch_left_last(&self) -> Option<String> {
        reflog::read_branch_left(&*self.find_repository().ok()??)
    }

    fn visit_names_elsewhere(
        &self,
        folder: &str,
        each: &mut dyn FnMut(&str),
    ) -> Result<(), StoreFault> {
        match self.find_repository()? {
            Some(place) => other_branches::visit_names_elsewhere(&place, folder, each),
            None => Ok(()),
        }
    }

    fn count_uncommitted_lines(&self, paths: &[String]) -> Result<Vec<ChangedLines>, StoreFault> {
        let Some(place) = self.find_repository()? else {
            return Ok(Vec::new());
        };
        if !paths.is_empty() {
            // Stat before counting: a file written in between then has another stamp than the
            // cached one and is counted again. The other order would cache a stale count as valid.
            let before = line_count_cache::stat_files(&place, paths)?;
            let mut found = match named_files::count_uncommitted_lines(&place, paths)? {
                Some(found) => found,
                None => uncommitted::count_uncommitted_lines(&place, paths)?.lines,
            };
            attributes::mark_generated_files(&place, &mut found)?;
            line_count_cache::update_cached_counts(&place, paths, &before, &found);
            return Ok(found);
        }
        // Taken before anything is compared, for the same reason: which files git will count is not
        // known yet, so everything that changes from now on is left out of the cache.
        let start = CountStart::take(&place)?;
        let unlike = match line_count_cache::look_up_cached_counts(&place, &start)? {
            CacheLookup::Stands(lines) => return Ok(lines),
            CacheLookup::Not { unlike } => unlike,
        };
        let mut found = uncommitted::count_uncommitted_lines(&place, paths)?;
        attributes::mark_generated_files(&place, &mut found.lines)?;
        line_count_cache::cache_line_counts(&place, &found, &unlike, &start)?;
        Ok(found.lines)
    }

    fn is_large(&self) -> bool {
        let place = self.find_repository().ok().flatten();
        place
            .and_then(|place| index::read_entry_count(&place.own.join("index")))
            .is_some_and(|files| files > MAX_FILES_OF_SMALL_REPOSITORY)
    }

    fn list_file_contents(&self) -> Result<Option<BTreeMap<String, String>>, StoreFault> {
        if self.find_repository()?.is_none() {
            return Ok(None);
        }
        let listed = GitChanges::in_project(self.root.clone()).list_file_contents();
        listed
            .map(Some)
            .map_err(|why| git_fault("cannot list the files", why))
    }

    fn repository_changes(&self) -> Option<&dyn RepositoryChanges> {
        self.find_repository()
            .ok()?
            .map(|_| self as &dyn RepositoryChanges)
    }

    fn commits_since(&self, base: Option<&str>) -> Result<Option<CommitHistory>, StoreFault> {
        self.find_repository()?
            .map_or(Ok(None), |place| history::read_commits_since(&place, base))
    }

    fn find_commits_mentioning(&self, word: &str) -> Result<Vec<NamedCommit>, StoreFault> {
        self.find_repository()?.map_or(Ok(Vec::new()), |place| {
            commit_search::find_commits_naming(&place, word)
        })
    }

    fn list_open_branches(&self, most: usize) -> Result<Vec<OpenBranch>, StoreFault> {
        self.find_repository()?.map_or(Ok(Vec::new()), |place| {
            branches::list_open_branches(&place, most)
        })
    }

    fn list_changed_since(&self, base: &str) -> Result<Vec<String>, StoreFault> {
        self.find_repository()?.map_or(Ok(Vec::new()), |place| {
            branches::list_changed_since(&place, base)
        })
    }

    fn predict_conflicts(&self, one: &str, other: &str) -> Result<Vec<String>, StoreFault> {
        self.find_repository()?.map_or(Ok(Vec::new()), |place| {
            branches::predict_conflicts(&place, one, other)
        })
    }
}

/// Whether git tracks a file below a folder of the project. Also true where the index cannot be
/// parsed: the callers leave tracked files alone.
#[must_use]
pub fn tracks_files_below(root: &Path, folder: &str) -> bool {
    let Ok(Some(place)) = RepositoryPaths::find_repository(root) else {
        return false;
    };
    let Ok(index) = std::fs::read(place.own.join("index")) else {
        return false;
    };
    // The length of the commit's id gives the hash size, which the parser needs.
    let hash = match head::resolve_head(&place) {
        Ok(GitHead::At(commit)) => commit.len() / 2,
        _ => 20,
    };
    let folder = place.prefix.join(folder).join("");
    let wanted = folder.as_os_str().as_encoded_bytes();
    index::parse_index_entries(&index, hash)
        .is_none_or(|entries| entries.iter().any(|entry| entry.name.starts_with(wanted)))
}

/// Returns the directories of this project in the other working trees of its repository, if it is
/// in a linked one.
pub(crate) fn project_in_other_worktrees(root: &Path) -> Vec<PathBuf> {
    match RepositoryPaths::find_repository(root) {
        Ok(Some(place)) => place.project_in_other_worktrees(),
        _ => Vec::new(),
    }
}

/// Builds the fault for a failed `action` on the repository.
fn git_fault(
    action: impl Into<String>,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> StoreFault {
    StoreFault::Io {
        action: action.into(),
        source: source.into(),
    }
}

/// Whether `text` is a full SHA-1 or SHA-256 in lower-case hex.
fn is_object_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64)
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether `hash` is git's null object id (all zeros), which stands for "no commit".
fn is_null_hash(hash: &str) -> bool {
    hash.bytes().all(|byte| byte == b'0')
}
