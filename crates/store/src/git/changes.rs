//! Files of the working tree that differ from a commit, compared by blob hash
//! (`hash-object --no-filters`).
//!
//! Hashes of the bytes on disk need no content filter or textconv program of the repository, and
//! whether a file differs is all that reconciling needs to know.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use domain::ports::{FileCommit, RepositoryChanges};
use domain::time::Timestamp;

use super::command::empty_tree;
use super::process;
use super::repository_paths::RepositoryPaths;

/// The git repository that contains a project.
#[derive(Clone, Debug)]
pub struct GitChanges {
    root: PathBuf,
}

/// Files hashed per `git hash-object` process; keeps the command line below the system's limit.
const FILES_PER_HASH_PROCESS: usize = 400;

/// Time limit of one git process here. Generous, because a person waits for `tl doc reconcile` and a
/// large repository is hashed completely.
const HASH_TIMEOUT: Duration = Duration::from_secs(60);

impl GitChanges {
    /// Returns the repository that contains the project directory `root`.
    #[must_use]
    pub fn in_project(root: PathBuf) -> Self {
        Self { root }
    }

    fn find_repository(&self) -> Result<RepositoryPaths, String> {
        RepositoryPaths::find_repository(&self.root)
            .map_err(|fault| fault.to_string())?
            .ok_or_else(|| "not a git repository".to_owned())
    }

    fn run_git(&self, arguments: &[&str]) -> Result<String, String> {
        let place = self.find_repository()?;
        let ended = process::run_git_within(&place, arguments, HASH_TIMEOUT, process::read_to_text)
            .map_err(|fault| fault.to_string())?;
        if ended.code == 0 {
            return Ok(ended.said);
        }
        // Only the first line, without git's prefix: it becomes the tail of one error message.
        Err(ended
            .complaint
            .lines()
            .next()
            .unwrap_or("git failed")
            .trim_start_matches("fatal: ")
            .to_owned())
    }

    /// Returns the regular files of a commit with their blob hashes.
    fn hash_committed_files(&self, commit: &str) -> Result<BTreeMap<String, String>, String> {
        let listed = self.run_git(&["ls-tree", "-r", "-z", commit, "--", "."])?;
        let entries = listed
            .split('\0')
            .filter_map(|entry| entry.split_once('\t'));
        let files = entries.filter_map(|(about, path)| {
            // `100644 blob HASH`. Symlinks (120000) and submodules (160000) are skipped on both
            // sides.
            let mut words = about.split(' ');
            let is_file = words.next().is_some_and(|mode| mode.starts_with("100"));
            is_file
                .then_some(())
                .and(words.nth(1))
                .map(|hash| (path.to_owned(), hash.to_owned()))
        });
        Ok(files.collect())
    }

    /// Returns the regular files of the working tree with their blob hashes: tracked files, and
    /// untracked ones that are not ignored.
    fn hash_working_files(&self) -> Result<BTreeMap<String, String>, String> {
        let listed = self.run_git(&[
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
            "--",
            ".",
        ])?;
        // `--cached` also lists deleted files. Symlinks and submodules are left out as in the
        // commit.
        let is_file = |path: &&str| {
            self.root
                .join(path)
                .symlink_metadata()
                .is_ok_and(|found| found.is_file())
        };
        // A set, because a file with a merge conflict is listed once per stage.
        let paths: BTreeSet<&str> = listed
            .split('\0')
            .filter(|path| !path.is_empty())
            .filter(is_file)
            .collect();
        let paths: Vec<&str> = paths.into_iter().collect();
        self.hash_files(&paths)
    }

    /// Returns the blob hashes of files of the working tree.
    fn hash_files(&self, paths: &[&str]) -> Result<BTreeMap<String, String>, String> {
        let mut files = BTreeMap::new();
        for some in paths.chunks(FILES_PER_HASH_PROCESS) {
            let mut arguments = vec!["hash-object", "--no-filters", "--"];
            arguments.extend(some);
            let hashes = self.run_git(&arguments)?;
            files.extend(
                some.iter()
                    .zip(hashes.lines())
                    .map(|(path, hash)| ((*path).to_owned(), hash.to_owned())),
            );
        }
        Ok(files)
    }

    /// Returns the regular files of the working tree with their blob hashes, like
    /// [`Self::hash_working_files`]. Hashes only files that differ from the index, which has the others.
    pub(super) fn list_file_contents(&self) -> Result<BTreeMap<String, String>, String> {
        let listed = self.run_git(&["ls-files", "-z", "--stage", "--", "."])?;
        let mut files: BTreeMap<String, String> = listed
            .split('\0')
            .filter_map(|entry| entry.split_once('\t'))
            .filter_map(|(about, path)| {
                // `100644 HASH 0`
                let (mode, rest) = about.split_once(' ')?;
                let hash = rest.split(' ').next()?;
                mode.starts_with("100")
                    .then(|| (path.to_owned(), hash.to_owned()))
            })
            .collect();
        let changed = self.run_git(&[
            "ls-files",
            "-z",
            "--modified",
            "--others",
            "--exclude-standard",
            "--",
            ".",
        ])?;
        let changed: BTreeSet<&str> = changed
            .split('\0')
            .filter(|path| !path.is_empty())
            .collect();
        let (present, gone): (Vec<&str>, Vec<&str>) = changed.into_iter().partition(|path| {
            let found = self.root.join(path).symlink_metadata();
            found.is_ok_and(|found| found.is_file())
        });
        for path in gone {
            files.remove(path);
        }
        files.extend(self.hash_files(&present)?);
        Ok(files)
    }
}

impl RepositoryChanges for GitChanges {
    fn commit_before(&self, moment: Timestamp) -> Result<String, String> {
        // Git counts whole seconds; a commit made in the second of the freeze came before it.
        let seconds = moment.as_millis().div_euclid(1_000);
        let found = self.run_git(&[
            "rev-list",
            "-1",
            &format!("--before={seconds}"),
            "HEAD",
            "--",
        ])?;
        let commit = found.trim();
        if commit.is_empty() {
            return Err("there is no commit from before the freeze".to_owned());
        }
        Ok(commit.to_owned())
    }

    fn changed_files_since(&self, commit: &str) -> Result<BTreeSet<String>, String> {
        refuse_option(commit)?;
        let (before, now) = (
            self.hash_committed_files(commit)?,
            self.hash_working_files()?,
        );
        let all: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
        Ok(all
            .into_iter()
            .filter(|path| before.get(*path) != now.get(*path))
            .cloned()
            .collect())
    }

    fn commits_of_file(&self, path: &str) -> Result<Vec<FileCommit>, String> {
        let place = self.find_repository()?;
        // Not `git log`, which the repository's configuration can let verify signatures.
        let listed = self.run_git(&["rev-list", "--format=%P", "HEAD", "--", path])?;
        let mut commits: Vec<FileCommit> = Vec::new();
        for line in listed.lines() {
            match (line.strip_prefix("commit "), commits.last_mut()) {
                (Some(commit), _) => commits.push(FileCommit {
                    commit: commit.to_owned(),
                    before: None,
                }),
                (None, Some(last)) => {
                    last.before = line.split(' ').next().map(str::to_owned);
                }
                (None, None) => {}
            }
        }
        // The end of a shallow history has parents that are not here.
        let is_shallow = place.common.join("shallow").exists();
        for commit in &mut commits {
            let is_first = commit.before.as_ref().is_none_or(String::is_empty);
            if is_first {
                commit.before = (!is_shallow).then(|| empty_tree(&place).to_owned());
            }
        }
        Ok(commits)
    }

    fn read_committed_file(&self, commit: &str, path: &str) -> Result<String, String> {
        refuse_option(commit)?;
        // Relative to the directory of the project, where git is started.
        self.run_git(&["cat-file", "blob", &format!("{commit}:./{path}")])
    }
}

/// Refuses a name of a commit that git would take for an option: it comes from the user and goes onto a
/// command line.
fn refuse_option(commit: &str) -> Result<(), String> {
    if commit.is_empty() || commit.starts_with('-') || commit.contains(char::is_whitespace) {
        return Err(format!("`{commit}` is not a commit"));
    }
    Ok(())
}
