//! Repository discovery: finds the working tree and its git directories upward from the project, by
//! git's own rules.
//!
//! `GIT_DIR` and the like are ignored: inside a git hook they may name another repository.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use domain::ports::StoreFault;

use super::git_fault;

/// Maximum size of a `gitdir:` file, HEAD or a loose ref: one line, at most about as long as a
/// path.
const MAX_POINTER_BYTES: u64 = 8 * 1024;

/// The directories of one working tree.
#[derive(Debug)]
pub(crate) struct RepositoryPaths {
    /// The project, links resolved.
    pub(crate) project: PathBuf,
    /// The top of the working tree.
    pub(crate) top: PathBuf,
    /// The project relative to the top of the working tree; empty if it is the top.
    pub(crate) prefix: PathBuf,
    /// The working tree's own git directory: HEAD, its reflog, operations in progress.
    pub(crate) own: PathBuf,
    /// The git directory that all linked working trees share: branches, objects, config.
    pub(crate) common: PathBuf,
}

impl RepositoryPaths {
    /// Finds the repository that contains the project. A `.git` directory that is not a repository
    /// is skipped, as git does.
    pub(crate) fn find_repository(root: &Path) -> Result<Option<Self>, StoreFault> {
        // Links are resolved, because git names files by their real path below the working tree.
        let Ok(project) = root.canonicalize() else {
            return Ok(None);
        };
        for top in project.ancestors() {
            let dot_git = top.join(".git");
            let own = match fs::metadata(&dot_git) {
                Ok(found) if found.is_dir() => dot_git,
                Ok(found) if found.is_file() => read_gitdir_file(&dot_git, top)?,
                Ok(_) => continue,
                Err(error) if is_absent(&error) => continue,
                Err(error) => {
                    return Err(git_fault(
                        format!("cannot stat `{}`", dot_git.display()),
                        error,
                    ));
                }
            };
            // `commondir` exists only in linked working trees.
            let pointer = own.join("commondir");
            let common = match read_first_line(&pointer) {
                Ok(shared) => own.join(shared),
                Err(error) if is_absent(&error) => own.clone(),
                Err(error) => {
                    return Err(git_fault(
                        format!("cannot read `{}`", pointer.display()),
                        error,
                    ));
                }
            };
            // The test git itself applies. HEAD may be a dangling symlink in an unborn repository,
            // therefore no link is followed.
            if own.join("HEAD").symlink_metadata().is_ok()
                && common.join("objects").is_dir()
                && common.join("refs").is_dir()
            {
                let prefix = project
                    .strip_prefix(top)
                    .map(Path::to_owned)
                    .unwrap_or_default();
                let top = top.to_owned();
                return Ok(Some(Self {
                    project,
                    top,
                    prefix,
                    own,
                    common,
                }));
            }
            // A broken `gitdir:` file is an error for git too; searching on would find the wrong
            // repository, for example the one around a submodule.
            if top.join(".git").is_file() {
                let action = format!(
                    "`{}` does not point to a repository",
                    top.join(".git").display()
                );
                return Err(git_fault(
                    action,
                    format!("`{}` is not a git directory", own.display()),
                ));
            }
        }
        Ok(None)
    }
}

impl RepositoryPaths {
    /// Returns the project's directory in the main and in every linked working tree, if this is a
    /// linked one that the repository knows.
    pub(super) fn project_in_other_worktrees(&self) -> Vec<PathBuf> {
        // The repository has to name this working tree: anybody can write a `.git` file that points
        // to a repository of someone else.
        let is_registered = self.own != self.common
            && read_first_line(&self.own.join("gitdir"))
                .ok()
                .and_then(|back| self.own.join(back).canonicalize().ok())
                .is_some_and(|back| back == self.top.join(".git"));
        let Some(common) = self.common.canonicalize().ok().filter(|_| is_registered) else {
            return Vec::new();
        };
        let main = (common.file_name().is_some_and(|name| name == ".git"))
            .then(|| common.parent().map(Path::to_owned))
            .flatten();
        let entries = fs::read_dir(common.join("worktrees")).into_iter().flatten();
        let linked = entries.flatten().filter_map(|entry| {
            let back = read_first_line(&entry.path().join("gitdir")).ok()?;
            entry.path().join(back).parent().map(Path::to_owned)
        });
        main.into_iter()
            .chain(linked)
            .filter(|top| *top != self.top)
            .map(|top| top.join(&self.prefix))
            // Joining an empty prefix leaves a slash at the end.
            .map(|project| project.components().collect())
            .collect()
    }
}

/// Reads the target of a `.git` file, which linked working trees and submodules have.
fn read_gitdir_file(file: &Path, top: &Path) -> Result<PathBuf, StoreFault> {
    let action = || format!("cannot read `{}`", file.display());
    let line = read_first_line(file).map_err(|error| git_fault(action(), error))?;
    let target = line
        .strip_prefix("gitdir: ")
        .ok_or_else(|| git_fault(action(), "expected `gitdir: PATH`"))?;
    Ok(top.join(target))
}

/// Reads the first line of a small file.
pub(crate) fn read_first_line(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?
        // A huge or endless file behind one of these names must not be read into memory.
        .take(MAX_POINTER_BYTES)
        .read_to_string(&mut text)?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// Whether the error means that there is no such file.
pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory
    )
}
