//! Branches that may be merged later, and the conflicts a merge of two of them would have.
//!
//! Conflicts are predicted by `git merge-tree --write-tree`, which needs no working tree. The
//! objects it makes go into a scratch directory, so that the repository is not written to. Needs
//! git 2.38; merge drivers of the repository are not run.

use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::ports::{OpenBranch, StoreFault};

use super::process;
use super::repository_paths::RepositoryPaths;
use super::{git_fault, is_object_hash};

/// Time limit of one git process here: a person waits for `tl overlap`.
const BRANCH_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the tips of all worktrees and of the newest local branches, with the files each changed.
pub(super) fn list_open_branches(
    place: &RepositoryPaths,
    most: usize,
) -> Result<Vec<OpenBranch>, StoreFault> {
    let mut found = list_worktrees(place)?;
    let newest = format!("--count={most}");
    let listed = run_git(
        place,
        &[
            "for-each-ref",
            "--sort=-committerdate",
            &newest,
            "--format=%(objectname) %(refname)",
            "refs/heads/",
        ],
        "cannot list the branches",
    )?;
    for line in listed.lines() {
        let Some((commit, branch)) = line.split_once(" refs/heads/") else {
            continue;
        };
        let is_known = found
            .iter()
            .any(|one| one.branch.as_deref() == Some(branch));
        if !is_known {
            found.push(OpenBranch {
                branch: Some(branch.to_owned()),
                commit: commit.to_owned(),
                worktree: None,
                is_here: false,
                changed: Vec::new(),
            });
        }
    }
    let here = found
        .iter()
        .find(|one| one.is_here)
        .map(|one| one.commit.clone());
    if let Some(here) = here {
        for one in found.iter_mut().filter(|one| one.commit != here) {
            one.changed = list_changed_files(place, &here, &one.commit)?;
        }
    }
    Ok(found)
}

/// Returns the tips of all worktrees that have a commit.
fn list_worktrees(place: &RepositoryPaths) -> Result<Vec<OpenBranch>, StoreFault> {
    let listed = run_git(
        place,
        &["worktree", "list", "--porcelain", "-z"],
        "cannot list the worktrees",
    )?;
    let mut found = Vec::new();
    // One worktree per paragraph: `worktree PATH`, `HEAD HASH`, `branch REF` or `detached`.
    for paragraph in listed.split("\0\0") {
        let field = |name: &str| {
            paragraph
                .split('\0')
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
        };
        let (Some(folder), Some(commit)) = (field("worktree"), field("HEAD")) else {
            continue;
        };
        // All zeros in a worktree without a commit; a removed directory waits for `git worktree
        // prune`.
        if super::is_null_hash(commit)
            || paragraph
                .split('\0')
                .any(|line| line.starts_with("prunable"))
        {
            continue;
        }
        let is_here = Path::new(folder)
            .canonicalize()
            .is_ok_and(|folder| folder == place.top);
        let branch = field("branch").and_then(|name| name.strip_prefix("refs/heads/"));
        found.push(OpenBranch {
            branch: branch.map(str::to_owned),
            commit: commit.to_owned(),
            worktree: Some(folder.to_owned()),
            is_here,
            changed: Vec::new(),
        });
    }
    Ok(found)
}

/// Returns the files of the project that HEAD changed since it left `base`.
pub(super) fn list_changed_since(
    place: &RepositoryPaths,
    base: &str,
) -> Result<Vec<String>, StoreFault> {
    // Resolved first: a name that begins with `-` must not be read as an option.
    let commit = run_git(
        place,
        &[
            "rev-parse",
            "--verify",
            "--end-of-options",
            &format!("{base}^{{commit}}"),
        ],
        &format!("cannot find the commit `{base}`"),
    )?;
    let ended = run_changed_files(place, commit.trim(), "HEAD")?;
    if ended.code != 0 {
        return Err(ended.to_fault(&format!("cannot compare HEAD with `{base}`")));
    }
    Ok(split_names(&ended.said))
}

/// Returns the files of the project that `tip` changed since it left `base`. Without a common
/// commit (unrelated histories) there are none; such a branch cannot be merged either.
fn list_changed_files(
    place: &RepositoryPaths,
    base: &str,
    tip: &str,
) -> Result<Vec<String>, StoreFault> {
    let ended = run_changed_files(place, base, tip)?;
    Ok(if ended.code == 0 {
        split_names(&ended.said)
    } else {
        Vec::new()
    })
}

fn run_changed_files(
    place: &RepositoryPaths,
    base: &str,
    tip: &str,
) -> Result<process::GitOutput<String>, StoreFault> {
    // Three dots: from the merge base.
    let range = format!("{base}...{tip}");
    let arguments = [
        "diff",
        "--name-only",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--relative",
        "-z",
        &range,
    ];
    process::run_git_within(place, &arguments, BRANCH_TIMEOUT, process::read_to_text)
}

fn split_names(listed: &str) -> Vec<String> {
    listed.split_terminator('\0').map(str::to_owned).collect()
}

/// Returns the files of the project that conflict in a merge of two commits.
pub(super) fn predict_conflicts(
    place: &RepositoryPaths,
    one: &str,
    other: &str,
) -> Result<Vec<String>, StoreFault> {
    let action = "cannot predict the conflicts of a merge";
    if !is_object_hash(one) || !is_object_hash(other) {
        return Err(git_fault(action, "expected two commits"));
    }
    let scratch = ScratchObjects::create()?;
    let objects = place.common.join("objects");
    let environment: [(&str, &OsStr); 2] = [
        ("GIT_OBJECT_DIRECTORY", scratch.folder.as_os_str()),
        ("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects.as_os_str()),
    ];
    let arguments = [
        "merge-tree",
        "--write-tree",
        "--name-only",
        "--no-messages",
        "-z",
        one,
        other,
    ];
    let ended = process::run_merge(
        place,
        &arguments,
        &environment,
        BRANCH_TIMEOUT,
        process::read_to_text,
    )?;
    // 0: a clean merge, 1: conflicts; everything else is an error.
    match ended.code {
        0 => Ok(Vec::new()),
        1 => {
            let prefix = place.prefix.to_string_lossy();
            // The tree comes first, then the files, relative to the top of the working tree.
            let files = ended.said.split_terminator('\0').skip(1);
            Ok(files
                .filter_map(|file| {
                    if prefix.is_empty() {
                        return Some(file);
                    }
                    file.strip_prefix(prefix.as_ref())?.strip_prefix('/')
                })
                .map(str::to_owned)
                .collect())
        }
        _ => Err(ended.to_fault(action)),
    }
}

fn run_git(
    place: &RepositoryPaths,
    arguments: &[&str],
    action: &str,
) -> Result<String, StoreFault> {
    let ended = process::run_git_within(place, arguments, BRANCH_TIMEOUT, process::read_to_text)?;
    match ended.code {
        0 => Ok(ended.said),
        _ => Err(ended.to_fault(action)),
    }
}

/// A directory for the objects of a predicted merge, deleted afterwards.
struct ScratchObjects {
    folder: PathBuf,
}

impl ScratchObjects {
    fn create() -> Result<Self, StoreFault> {
        let folder =
            std::env::temp_dir().join(format!("throughline-merge-{}", uuid::Uuid::new_v4()));
        // Fails if it exists: nobody else can have prepared it.
        DirBuilder::new()
            .mode(0o700)
            .create(&folder)
            .map_err(|error| git_fault(format!("cannot create `{}`", folder.display()), error))?;
        Ok(Self { folder })
    }
}

impl Drop for ScratchObjects {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
