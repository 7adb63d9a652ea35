//! Asking git what changed. The repository may be hostile: no hook, filter, pager or monitor of it is run.
//!
//! `git diff` and `git status` run filters that a repository's settings name. So the files are compared by their
//! hashes alone, which git makes without looking at any setting (`hash-object --no-filters`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use domain::ports::RepositoryChanges;
use domain::time::Timestamp;

/// The repository a project lies in.
#[derive(Clone, Debug)]
pub struct GitChanges {
    root: PathBuf,
}

/// So many files are hashed by one process.
const AT_ONCE: usize = 400;

impl GitChanges {
    /// Returns the repository around a project's directory.
    #[must_use]
    pub fn around(root: PathBuf) -> Self {
        Self { root }
    }

    #[expect(clippy::disallowed_methods, reason = "git itself is asked, with fixed arguments and no shell")]
    fn git(&self, arguments: &[&str]) -> Result<String, String> {
        let output = Command::new("git")
            .args(["--no-optional-locks", "--literal-pathspecs", "-c", "core.fsmonitor=false", "-c", "core.pager=cat"])
            .args(arguments)
            .current_dir(&self.root)
            .env("GIT_TERMINAL_PROMPT", "0")
            .output()
            .map_err(|error| format!("git cannot be started: {error}"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let words = String::from_utf8_lossy(&output.stderr);
        Err(words.lines().next().unwrap_or("git failed").trim_start_matches("fatal: ").to_owned())
    }

    /// Returns the regular files of a commit with the hashes of what is in them.
    fn committed(&self, commit: &str) -> Result<BTreeMap<String, String>, String> {
        let listed = self.git(&["ls-tree", "-r", "-z", commit, "--", "."])?;
        let entries = listed.split('\0').filter_map(|entry| entry.split_once('\t'));
        let files = entries.filter_map(|(about, path)| {
            let mut words = about.split(' ');
            let is_file = words.next().is_some_and(|mode| mode.starts_with("100"));
            is_file.then_some(()).and(words.nth(1)).map(|hash| (path.to_owned(), hash.to_owned()))
        });
        Ok(files.collect())
    }

    /// Returns the same of the working tree: files that git follows, and new ones it does not ignore.
    fn present(&self) -> Result<BTreeMap<String, String>, String> {
        let listed = self.git(&["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "."])?;
        let is_file = |path: &&str| self.root.join(path).symlink_metadata().is_ok_and(|found| found.is_file());
        let paths: BTreeSet<&str> = listed.split('\0').filter(|path| !path.is_empty()).filter(is_file).collect();
        let paths: Vec<&str> = paths.into_iter().collect();
        let mut files = BTreeMap::new();
        for some in paths.chunks(AT_ONCE) {
            let mut arguments = vec!["hash-object", "--no-filters", "--"];
            arguments.extend(some);
            let hashes = self.git(&arguments)?;
            files.extend(some.iter().zip(hashes.lines()).map(|(path, hash)| ((*path).to_owned(), hash.to_owned())));
        }
        Ok(files)
    }
}

impl RepositoryChanges for GitChanges {
    fn commit_before(&self, moment: Timestamp) -> Result<String, String> {
        // Git counts whole seconds; a commit made in the second of the freeze came before it.
        let seconds = moment.as_millis().div_euclid(1_000);
        let found = self.git(&["rev-list", "-1", &format!("--before={seconds}"), "HEAD", "--"])?;
        let commit = found.trim();
        if commit.is_empty() {
            return Err("there is no commit from before the freeze".to_owned());
        }
        Ok(commit.to_owned())
    }

    fn changed_since(&self, commit: &str) -> Result<BTreeSet<String>, String> {
        if commit.is_empty() || commit.starts_with('-') || commit.contains(char::is_whitespace) {
            return Err(format!("`{commit}` is no commit"));
        }
        let (before, now) = (self.committed(commit)?, self.present()?);
        let all: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
        Ok(all.into_iter().filter(|path| before.get(*path) != now.get(*path)).cloned().collect())
    }
}
