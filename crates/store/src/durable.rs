//! Writing files so that a crash leaves the old or the new one.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// How much a write must survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// A power cut.
    Synced,
    /// A killed process. For copies that are made again when they are found wanting.
    Atomic,
}

/// Replaces a file's content: temporary file beside it, then rename.
pub(crate) fn replace(path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    let folder = folder_of(path);
    let mut file = tempfile::Builder::new()
        .prefix(".tl-")
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    if durability == Durability::Synced {
        file.as_file().sync_all()?;
    }
    file.persist(path).map_err(|error| error.error)?;
    if durability == Durability::Synced {
        sync_folder(folder)?;
    }
    Ok(())
}

/// Writes a file a person asked for, whole or not at all.
///
/// # Errors
/// When it cannot be written; a file that was there is then as it was.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, bytes, Durability::Synced)
}

/// Makes a folder's entries durable.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Moves a file into `aside` under its own name with the first free number, and returns where it is.
pub(crate) fn put_aside(path: &Path, aside: &Path) -> io::Result<std::path::PathBuf> {
    crate::private::create_directory(aside)?;
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    for number in 1_u32.. {
        let target = aside.join(format!("{name}.{number}"));
        if target.symlink_metadata().is_err() {
            fs::rename(path, &target)?;
            sync_folder(aside)?;
            return Ok(target);
        }
    }
    Err(io::Error::other("no free name"))
}

fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}
