//! Files in the user's own directory, one per store: readable and writable for the user alone, whatever the umask.

use std::io;
use std::path::{Path, PathBuf};

use domain::ids::StoreId;

use crate::private;

/// Makes a directory of the user (0700), with those above it.
pub(crate) fn make_private_folder(folder: &Path) -> io::Result<()> {
    private::create_directory(folder)?;
    private::restrict_directory(folder);
    Ok(())
}

/// Returns the file of a store in a folder. An id comes from a file anyone may have written: only our own form becomes a
/// file name.
pub(crate) fn file_of_store(folder: &Path, store: &StoreId) -> Option<PathBuf> {
    let fits = store.0.len() == 36 && store.0.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    fits.then(|| folder.join(&store.0))
}
