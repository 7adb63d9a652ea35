//! File permissions of Throughline's own files: directories 0700 and files 0600, whatever the
//! umask.
//!
//! State, logs and session files hold texts and commands of the user. Plan files and other files of
//! the project are not ours and get the modes of the user's umask. Files checked out by git (decisions,
//! `config.toml`) have git's modes and are protected by the directory above them.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::layout::STATE_FOLDER;

/// Mode of our directories.
pub(crate) const DIRECTORY_MODE: u32 = 0o700;
/// Mode of our files.
pub(crate) const FILE_MODE: u32 = 0o600;

/// Permission bits of group and others.
const GROUP_AND_OTHERS_MODE: u32 = 0o077;

/// Maximum recursion depth; `.throughline/mirror` is as deep as the tree of plans.
const MAX_WALK_DEPTH: usize = 64;

/// Creates a directory with mode 0700, and its missing parents.
///
/// # Errors
/// When it cannot be created.
pub fn create_private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(DIRECTORY_MODE)
        .create(path)
}

/// Returns options that create files with mode 0600.
#[must_use]
pub fn private_open_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(FILE_MODE);
    options
}

/// Whether a path relative to the project is inside the state folder.
pub(crate) fn is_state_path(path: &str) -> bool {
    path.strip_prefix(STATE_FOLDER)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Removes the permissions of group and others from a directory. One `stat` where there are none;
/// what cannot be changed (another owner, a file system without modes) is left for [`exposed`] to
/// report.
pub(crate) fn restrict_directory(path: &Path) {
    // Not through a link, which a repository could point at a directory outside.
    if fs::symlink_metadata(path)
        .is_ok_and(|metadata| metadata.is_dir() && metadata.mode() & GROUP_AND_OTHERS_MODE != 0)
    {
        let _ = fs::set_permissions(path, Permissions::from_mode(DIRECTORY_MODE));
    }
}

/// Removes the permissions of group and others from a directory and everything in it; returns how
/// many entries had some.
///
/// Links are not followed.
pub fn restrict_all(path: &Path) -> usize {
    restrict_below(path, 0)
}

fn restrict_below(path: &Path, depth: usize) -> usize {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return 0;
    };
    let mode = match metadata.file_type() {
        kind if kind.is_dir() => DIRECTORY_MODE,
        kind if kind.is_file() => FILE_MODE,
        // Links, sockets and devices: changing the mode of a link changes its target.
        _ => return 0,
    };
    let had_some = metadata.mode() & GROUP_AND_OTHERS_MODE != 0
        && fs::set_permissions(path, Permissions::from_mode(mode)).is_ok();
    let mut changed = usize::from(had_some);
    if metadata.is_dir() && depth < MAX_WALK_DEPTH {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        changed += entries
            .map(|entry| restrict_below(&entry.path(), depth + 1))
            .sum::<usize>();
    }
    changed
}

/// Returns the directories that group or others may enter or read.
#[must_use]
pub fn find_exposed(directories: &[&Path]) -> Vec<PathBuf> {
    let is_open = |path: &&&Path| {
        fs::metadata(path).is_ok_and(|metadata| metadata.mode() & GROUP_AND_OTHERS_MODE != 0)
    };
    directories
        .iter()
        .filter(is_open)
        .map(|path| path.to_path_buf())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_below_the_state_directory_are_ours() {
        for ours in [".throughline", ".throughline/sessions/s.md"] {
            assert!(is_state_path(ours), "{ours}");
        }
        for theirs in [
            "acts/act-1/plan.md",
            ".throughline.md",
            "x/.throughline/y",
            ".claude/settings.json",
            "",
        ] {
            assert!(!is_state_path(theirs), "{theirs}");
        }
    }

    #[test]
    fn restricting_a_directory_covers_everything_in_it_and_no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (home, outside) = (folder.path().join("home"), folder.path().join("outside"));
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        for path in [&home, &home.join("logs"), &outside] {
            fs::create_dir(path).unwrap();
            fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
        }
        for path in [home.join("logs/tl.log"), outside.join("file")] {
            drop(fs::File::create(&path).unwrap());
            fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        }
        std::os::unix::fs::symlink(&outside, home.join("link")).unwrap();
        assert_eq!(
            find_exposed(&[&home, &outside]),
            [home.clone(), outside.clone()]
        );
        assert_eq!(restrict_all(&home), 3);
        assert_eq!(
            [
                mode(&home),
                mode(&home.join("logs")),
                mode(&home.join("logs/tl.log"))
            ],
            [0o700, 0o700, 0o600]
        );
        assert_eq!(
            [mode(&outside), mode(&outside.join("file"))],
            [0o777, 0o666]
        );
        assert_eq!(
            (restrict_all(&home), find_exposed(&[&home])),
            (0, Vec::new())
        );
    }
}
