//! Where the repository keeps its files: found upward from the project, as git itself finds it.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use domain::ports::StoreFault;

use super::fault;

/// A pointer, a HEAD, a loose ref: one line. More than a path can have is no such file.
const MOST_BYTES: u64 = 8 * 1024;

/// The folders of one working tree.
#[derive(Debug)]
pub(super) struct Place {
    /// The project, without links.
    pub(super) project: PathBuf,
    /// The top of the working tree.
    pub(super) top: PathBuf,
    /// The project as git names it, relative to the top of the working tree; empty when it is the top.
    pub(super) prefix: PathBuf,
    /// What belongs to this working tree alone: HEAD, its log, what is under way.
    pub(super) own: PathBuf,
    /// What all working trees share: branches, objects.
    pub(super) common: PathBuf,
}

impl Place {
    /// Finds the repository the project lies in. A `.git` folder that is no repository is passed by, as git does.
    pub(super) fn find(root: &Path) -> Result<Option<Self>, StoreFault> {
        let Ok(project) = root.canonicalize() else {
            return Ok(None);
        };
        for top in project.ancestors() {
            let dot_git = top.join(".git");
            let own = match fs::metadata(&dot_git) {
                Ok(found) if found.is_dir() => dot_git,
                Ok(found) if found.is_file() => pointed_at(&dot_git, top)?,
                Ok(_) => continue,
                Err(error) if is_absent(&error) => continue,
                Err(error) => {
                    return Err(fault(
                        format!("cannot look at `{}`", dot_git.display()),
                        error,
                    ));
                }
            };
            let pointer = own.join("commondir");
            let common = match first_line(&pointer) {
                Ok(shared) => own.join(shared),
                Err(error) if is_absent(&error) => own.clone(),
                Err(error) => {
                    return Err(fault(format!("cannot read `{}`", pointer.display()), error));
                }
            };
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
            if top.join(".git").is_file() {
                let action = format!("`{}` points at no repository", top.join(".git").display());
                return Err(fault(
                    action,
                    format!("there is none in `{}`", own.display()),
                ));
            }
        }
        Ok(None)
    }
}

/// Follows a `.git` file, as linked working trees and submodules have.
fn pointed_at(file: &Path, top: &Path) -> Result<PathBuf, StoreFault> {
    let action = || format!("cannot read `{}`", file.display());
    let line = first_line(file).map_err(|error| fault(action(), error))?;
    let target = line
        .strip_prefix("gitdir: ")
        .ok_or_else(|| fault(action(), "it does not say `gitdir: …`"))?;
    Ok(top.join(target))
}

/// Reads a file of one line.
pub(super) fn first_line(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?
        .take(MOST_BYTES)
        .read_to_string(&mut text)?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// Says whether the fault means that there is no such file.
pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory
    )
}
