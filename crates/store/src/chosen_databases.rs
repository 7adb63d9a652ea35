//! Per-user choice of the shared database of each project.
//!
//! The URL holds a password, and a server that is contacted learns what the user works on, so
//! neither may come from a file of a repository. It is kept in the user's own directory, mode 0600.

use std::io;
use std::path::{Path, PathBuf};

use domain::ids::Digest32;
use domain::settings::DatabaseUrl;

/// The user's choices, one file per project.
#[derive(Clone, Debug)]
pub struct ChosenDatabases {
    folder: PathBuf,
}

impl ChosenDatabases {
    /// Returns the choices kept below the user's state directory.
    #[must_use]
    pub fn in_state_directory(user_state: &Path) -> Self {
        Self {
            folder: user_state.join("databases"),
        }
    }

    /// Returns the database chosen for the project at `root`.
    #[must_use]
    pub fn load_url(&self, root: &Path) -> Option<DatabaseUrl> {
        std::fs::read_to_string(self.choice_file(root))
            .ok()
            .map(|text| DatabaseUrl::new(&text))
    }

    /// Sets the database of a project, or removes the choice with `None`.
    ///
    /// # Errors
    /// When the user's directory cannot be written.
    pub fn set_url(&self, root: &Path, url: Option<&DatabaseUrl>) -> io::Result<()> {
        let file = self.choice_file(root);
        match url {
            Some(url) => {
                crate::private_files::create_private_directory(&self.folder)?;
                crate::durable::replace_file(
                    &file,
                    url.reveal_url().as_bytes(),
                    crate::durable::Durability::Synced,
                )
            }
            None if file.exists() => std::fs::remove_file(file),
            None => Ok(()),
        }
    }

    fn choice_file(&self, root: &Path) -> PathBuf {
        // Canonical, so that a link to the project finds the same choice; a project that is gone
        // keeps the path it was given by.
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        self.folder
            .join(Digest32::of_bytes(root.as_os_str().as_encoded_bytes()).to_string())
    }
}
