//! Worktrees of a repository as the coordination names them: by git's administrative directory.
//!
//! Reads a few small files; starts no `git` process.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use domain::ports::Worktree;
use serde::{Deserialize, Serialize};

use crate::git::{RepositoryPaths, read_first_line};

/// A worktree in the files of the coordination.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WorktreeName {
    /// Git's name of it; empty for the main working tree.
    pub(super) name: String,
    /// When it was made, in nanoseconds; 0 for the main working tree.
    pub(super) made: i64,
}

/// Where a project is: its repository, its worktree, and its directory in it.
#[derive(Debug)]
pub(super) struct CoordinationPlace {
    common: PathBuf,
    pub(super) worktree: WorktreeName,
    /// The top of the working tree.
    pub(super) folder: String,
    /// The project relative to the top; empty if it is the top.
    pub(super) project: String,
}

impl CoordinationPlace {
    /// Returns the place of a project in its repository.
    pub(super) fn from_paths(paths: &RepositoryPaths) -> Self {
        let (common, worktree) = if paths.own == paths.common {
            (paths.common.clone(), WorktreeName::default())
        } else {
            // A linked worktree's `commondir` usually is `../..`; resolved, all worktrees agree.
            let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
            let (common, own) = (resolved(&paths.common), resolved(&paths.own));
            let name = match own.strip_prefix(common.join("worktrees")) {
                Ok(name) => name.to_string_lossy().into_owned(),
                Err(_) => String::new(),
            };
            let made = match name.is_empty() {
                true => 0,
                false => made_at(&own).unwrap_or(0),
            };
            (common, WorktreeName { name, made })
        };
        Self {
            worktree,
            folder: paths.top.to_string_lossy().into_owned(),
            project: paths.prefix.to_string_lossy().into_owned(),
            common,
        }
    }

    /// Returns our folder in the git directory that all worktrees share.
    pub(super) fn folder_of_ours(&self) -> PathBuf {
        self.common.join("throughline")
    }

    pub(super) fn claims_file(&self) -> PathBuf {
        self.folder_of_ours().join("claims.json")
    }

    pub(super) fn sessions_folder(&self) -> PathBuf {
        self.folder_of_ours().join("sessions")
    }

    pub(super) fn ids_folder(&self) -> PathBuf {
        self.folder_of_ours().join("ids")
    }

    pub(super) fn leases_folder(&self) -> PathBuf {
        self.folder_of_ours().join("leases")
    }

    /// Returns a worktree as it is now; `None` if it was removed. `folder` is where it was.
    pub(super) fn describe_worktree(&self, named: &WorktreeName, folder: &str) -> Option<Worktree> {
        let is_here = *named == self.worktree;
        if named.name.is_empty() {
            return Some(Worktree {
                folder: folder.to_owned(),
                branch: read_branch(&self.common),
                is_here,
            });
        }
        // The name comes from a file that another program may have written.
        if named.name.contains('/') || named.name == ".." {
            return None;
        }
        let own = self.common.join("worktrees").join(&named.name);
        if made_at(&own)? != named.made {
            return None;
        }
        // `gitdir` names the worktree's `.git` file; `git worktree move` rewrites it. A worktree
        // whose directory was deleted without git is gone as well.
        let dot_git = own.join(read_first_line(&own.join("gitdir")).ok()?);
        dot_git.symlink_metadata().ok()?;
        let folder = dot_git.parent()?.to_string_lossy().into_owned();
        Some(Worktree {
            folder,
            branch: read_branch(&own),
            is_here,
        })
    }
}

/// Returns when a linked worktree was made: `commondir` is written then and never again.
fn made_at(own: &Path) -> Option<i64> {
    let found = fs::metadata(own.join("commondir")).ok()?;
    Some(
        found
            .mtime()
            .wrapping_mul(1_000_000_000)
            .wrapping_add(found.mtime_nsec()),
    )
}

/// Returns the branch that is checked out, by HEAD.
fn read_branch(own: &Path) -> Option<String> {
    let head = read_first_line(&own.join("HEAD")).ok()?;
    let branch = head
        .strip_prefix("ref:")?
        .trim()
        .strip_prefix("refs/heads/")?;
    // The placeholder of a repository with reftables.
    (branch != ".invalid").then(|| branch.to_owned())
}
