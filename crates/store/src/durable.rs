//! Atomic file replacement: a crash leaves the old content or the new, never a mixture.
//!
//! Measured with replayed power cuts: a temporary file and a rename alone left torn files; with the
//! file's `fsync`, acknowledged writes could still be lost; with the directory's `fsync` as well,
//! nothing was.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// What a write must survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// A power cut.
    Synced,
    /// A killed process. For caches and copies that are regenerated when damaged.
    Atomic,
}

/// Replaces a file's content: writes a temporary file in the same directory, then renames it.
pub(crate) fn replace_file(path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    let folder = parent_folder(path);
    // In the same directory, because a rename across file systems is a copy. `tempfile` creates it
    // with mode 0600 and a random name, so no link can be prepared under it.
    let mut file = tempfile::Builder::new()
        .prefix(".tl-")
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    if durability == Durability::Synced {
        file.as_file().sync_all()?;
    }
    // Synced before the rename: the other order can leave an empty file after a power cut.
    file.persist(path).map_err(|error| error.error)?;
    if durability == Durability::Synced {
        sync_folder(folder)?;
    }
    Ok(())
}

/// Writes a file the user asked for, completely or not at all.
///
/// # Errors
/// When it cannot be written; an existing file is then unchanged.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_file(path, bytes, Durability::Synced)
}

/// Syncs a directory, so that its renames survive a power cut.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Moves a file into the folder `aside`, appending the first free number, and returns its path.
pub(crate) fn quarantine_file(path: &Path, aside: &Path) -> io::Result<std::path::PathBuf> {
    crate::private_files::create_private_directory(aside)?;
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    for number in 1_u32.. {
        let target = aside.join(format!("{name}.{number}"));
        // `symlink_metadata`, because a dangling link counts as taken.
        if target.symlink_metadata().is_err() {
            fs::rename(path, &target)?;
            sync_folder(aside)?;
            return Ok(target);
        }
    }
    Err(io::Error::other("no free file name"))
}

/// Returns the folder of a file; the current one for a bare file name.
pub(crate) fn parent_folder(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}
