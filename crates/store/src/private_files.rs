//! File permissions of Throughline's own files: directories 0700 and files 0600, whatever the
//! umask.
//!
//! State, logs and session files hold texts and commands of the user. Plan files and other files of
//! the project are not ours and get the modes of the user's umask. Files checked out by git (decisions,
//! `config.toml`) have git's modes and are protected by the directory above them.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::layout::STATE_FOLDER;

/// Mode of our directories.
pub(crate) const DIRECTORY_MODE: u32 = 0o700;
/// Mode of our files.
pub(crate) const FILE_MODE: u32 = 0o600;

/// Maximum size of a text file that [`read_own_file`] reads.
const MAX_OWN_FILE_BYTES: u64 = 16 * 1024 * 1024;

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

/// Returns options that create files with mode 0600 and do not open a link: a repository could point
/// one of our names at a file of the user.
#[must_use]
pub fn private_open_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(FILE_MODE).custom_flags(open_flags());
    options
}

/// Flags for names that a repository can bring: a link is an error, and a FIFO does not block.
fn open_flags() -> i32 {
    (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32
}

/// Reads a text file of ours that a repository can bring: a regular file, not through a link.
///
/// # Errors
/// When it cannot be read, is a link or no regular file, is too large, or is not UTF-8.
pub fn read_own_file(path: &Path) -> io::Result<String> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(open_flags())
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    file.take(MAX_OWN_FILE_BYTES + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > MAX_OWN_FILE_BYTES {
        return Err(io::Error::other(format!(
            "it is larger than {MAX_OWN_FILE_BYTES} bytes"
        )));
    }
    Ok(text)
}

/// An entry of a folder of ours that is neither a file nor a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignEntry {
    pub path: PathBuf,
    /// What it is, for a message: `a link`.
    pub kind: &'static str,
}

/// Finds a link, FIFO, socket or device in place of a folder of ours or directly in it. A repository
/// could lead what we write, or what we read, to another place with it.
///
/// The first level is enough: what is below is opened without following links, or written by a
/// rename within its folder. `None` for a folder that does not exist.
#[must_use]
pub fn find_foreign_entry(folder: &Path) -> Option<ForeignEntry> {
    let kind_of = |kind: fs::FileType| match kind {
        kind if kind.is_dir() || kind.is_file() => None,
        kind if kind.is_symlink() => Some("a link"),
        _ => Some("neither a file nor a folder"),
    };
    let found = |path: PathBuf, kind| ForeignEntry { path, kind };
    let own = fs::symlink_metadata(folder).ok()?.file_type();
    if let Some(kind) = kind_of(own) {
        return Some(found(folder.to_owned(), kind));
    }
    // The types come with the names: no `stat` per entry.
    fs::read_dir(folder).ok()?.flatten().find_map(|entry| {
        let kind = kind_of(entry.file_type().ok()?)?;
        Some(found(entry.path(), kind))
    })
}

/// Whether a path relative to the project is inside the state folder.
pub(crate) fn is_state_path(path: &str) -> bool {
    path.strip_prefix(STATE_FOLDER)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Creates a directory of ours that may have come with the repository; fails if it is a link or
/// contains one.
pub(crate) fn create_unlinked_directory(path: &Path) -> io::Result<()> {
    create_private_directory(path)?;
    match find_foreign_entry(path) {
        None => Ok(()),
        Some(entry) => Err(io::Error::other(format!(
            "`{}` is {}",
            entry.path.display(),
            entry.kind
        ))),
    }
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
#[expect(clippy::disallowed_methods, reason = "tests write files of their own")]
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
    fn a_file_of_ours_is_not_opened_through_a_link_and_a_fifo_does_not_block() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("outside"), "theirs").unwrap();
        std::os::unix::fs::symlink(at("outside"), at("link")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("fifo"), rustix::fs::Mode::RWXU).unwrap();
        for name in ["link", "fifo"] {
            assert!(read_own_file(&at(name)).is_err(), "{name}");
            let opened = private_open_options()
                .append(true)
                .create(true)
                .open(at(name));
            assert!(opened.is_err(), "{name}");
        }
        assert_eq!(read_own_file(&at("outside")).unwrap(), "theirs");
    }

    #[test]
    fn a_link_or_fifo_in_our_folder_or_in_its_place_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let (home, outside) = (folder.path().join("home"), folder.path().join("outside"));
        assert_eq!(find_foreign_entry(&home), None);
        for path in [&home, &home.join("logs"), &outside] {
            fs::create_dir(path).unwrap();
        }
        std::fs::write(home.join("config.toml"), "").unwrap();
        assert_eq!(find_foreign_entry(&home), None);
        let link = home.join("cache");
        std::os::unix::fs::symlink(&outside, &link).unwrap();
        let found = find_foreign_entry(&home).unwrap();
        assert_eq!((found.path, found.kind), (link.clone(), "a link"));
        fs::remove_file(&link).unwrap();
        let fifo = home.join("hooks.jsonl");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
        assert_eq!(find_foreign_entry(&home).unwrap().path, fifo);
        let instead = folder.path().join("instead");
        std::os::unix::fs::symlink(&outside, &instead).unwrap();
        assert_eq!(find_foreign_entry(&instead).unwrap().path, instead);
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
