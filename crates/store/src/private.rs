//! Permissions of what belongs to Throughline: directories 0700 and files 0600, whatever the umask is.
//!
//! State, logs and session files hold texts and commands of the user. Plan files and other files of the project are
//! not ours: they get the modes that the user's umask gives them. What git brings (the mirror, `config.toml`) has the
//! modes of git; it is protected by the directory above it.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::layout::HOME;

/// The mode of a directory of ours.
pub(crate) const DIRECTORY_MODE: u32 = 0o700;
/// The mode of a file of ours.
pub(crate) const FILE_MODE: u32 = 0o600;

/// What everybody but the owner may do.
const OTHERS: u32 = 0o077;

/// How deep the state is walked: `.throughline/state` is as deep as the tree of plans.
const MAX_DEPTH: usize = 64;

/// Makes a directory of ours, with those above it that are missing.
///
/// # Errors
/// When it cannot be made.
pub fn create_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(DIRECTORY_MODE)
        .create(path)
}

/// Returns how a file of ours is opened: one that is made is only for its owner.
#[must_use]
pub fn open_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(FILE_MODE);
    options
}

/// Says whether a path of a project is one of ours.
pub(crate) fn is_ours(path: &str) -> bool {
    path.strip_prefix(HOME)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Takes others' permissions from a directory of ours. One `stat` where there are none; what cannot be changed
/// (another owner, a file system without modes) is left for [`exposed`] to report.
pub(crate) fn restrict_directory(path: &Path) {
    if fs::symlink_metadata(path)
        .is_ok_and(|metadata| metadata.is_dir() && metadata.mode() & OTHERS != 0)
    {
        let _ = fs::set_permissions(path, Permissions::from_mode(DIRECTORY_MODE));
    }
}

/// Takes others' permissions from a directory of ours and everything in it, and returns how many entries had some.
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
        _ => return 0,
    };
    let had_some = metadata.mode() & OTHERS != 0
        && fs::set_permissions(path, Permissions::from_mode(mode)).is_ok();
    let mut changed = usize::from(had_some);
    if metadata.is_dir() && depth < MAX_DEPTH {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        changed += entries
            .map(|entry| restrict_below(&entry.path(), depth + 1))
            .sum::<usize>();
    }
    changed
}

/// Returns those of these directories that others may enter or read.
#[must_use]
pub fn exposed(directories: &[&Path]) -> Vec<PathBuf> {
    let is_open =
        |path: &&&Path| fs::metadata(path).is_ok_and(|metadata| metadata.mode() & OTHERS != 0);
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
            assert!(is_ours(ours), "{ours}");
        }
        for theirs in [
            "acts/act-1/plan.md",
            ".throughline.md",
            "x/.throughline/y",
            ".claude/settings.json",
            "",
        ] {
            assert!(!is_ours(theirs), "{theirs}");
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
        assert_eq!(exposed(&[&home, &outside]), [home.clone(), outside.clone()]);
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
        assert_eq!((restrict_all(&home), exposed(&[&home])), (0, Vec::new()));
    }
}
