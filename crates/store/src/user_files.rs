//! Per-store files in the user's own directory, with mode 0600 whatever the umask is.

use std::io;
use std::path::{Path, PathBuf};

use domain::ids::StoreId;

use crate::private_files;

/// Creates a directory with mode 0700, and its missing parents.
pub(crate) fn make_private_folder(folder: &Path) -> io::Result<()> {
    private_files::create_private_directory(folder)?;
    // An existing folder keeps its mode when it is "created"; one from an older version may be
    // open.
    private_files::restrict_directory(folder);
    Ok(())
}

/// Returns the file of a store in a folder; `None` for an id that is not a UUID in our form.
pub(crate) fn store_file_path(folder: &Path, store: &StoreId) -> Option<PathBuf> {
    // The id may come from a file in a cloned repository: `../` in it must not become a path.
    let fits = store.0.len() == 36 && store.0.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    fits.then(|| folder.join(&store.0))
}
