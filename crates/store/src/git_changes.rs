//! Asking git what changed. The repository may be hostile: no hook, filter, pager or monitor of it is run.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use domain::ports::RepositoryChanges;
use domain::time::Timestamp;

/// The repository a project lies in.
#[derive(Clone, Debug)]
pub struct GitChanges {
    root: PathBuf,
}

/// The tree without any file: attributes are taken from it, so that none of the repository's count.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

impl GitChanges {
    /// Returns the repository around a project's directory.
    #[must_use]
    pub fn around(root: PathBuf) -> Self {
        Self { root }
    }

    #[expect(clippy::disallowed_methods, reason = "git itself is asked, with fixed arguments and no shell")]
    fn git(&self, arguments: &[&str]) -> Result<String, String> {
        let output = Command::new("git")
            .arg("--no-optional-locks")
            .arg(format!("--attr-source={EMPTY_TREE}"))
            .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false"])
            .args(["-c", "diff.external=", "-c", "core.pager=cat", "-c", "submodule.recurse=false"])
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
}

impl RepositoryChanges for GitChanges {
    fn commit_before(&self, moment: Timestamp) -> Result<String, String> {
        // Git counts whole seconds; a commit made in the second of the freeze came before it.
        let seconds = moment.as_millis().div_euclid(1_000);
        let found = self.git(&["rev-list", "-1", &format!("--before={seconds}"), "HEAD", "--"])?;
        let commit = found.trim();
        if commit.is_empty() {
            Err("there is no commit from before the freeze".to_owned())
        } else {
            Ok(commit.to_owned())
        }
    }

    fn changed_since(&self, commit: &str) -> Result<BTreeSet<String>, String> {
        let is_name = !commit.is_empty() && !commit.starts_with('-') && !commit.contains(char::is_whitespace);
        if !is_name {
            return Err(format!("`{commit}` is no commit"));
        }
        let diff = [
            "diff",
            "--no-ext-diff",
            "--no-textconv",
            "--no-renames",
            "--name-only",
            "--relative",
            "-z",
            commit,
            "--",
            ".",
        ];
        let tracked = self.git(&diff)?;
        let new = self.git(&["ls-files", "--others", "--exclude-standard", "-z", "--", "."])?;
        Ok(tracked.split('\0').chain(new.split('\0')).filter(|path| !path.is_empty()).map(str::to_owned).collect())
    }
}
