//! In which shared database a project of this user is.
//!
//! An address holds a password, and a server that is asked learns what one works on: neither belongs into a file that comes
//! with a repository. So it is the user's own directory that says it, readable for them alone.

use std::io;
use std::path::{Path, PathBuf};

use domain::ids::Digest32;
use domain::settings::DatabaseUrl;

/// The user's choices, by project.
#[derive(Clone, Debug)]
pub struct ChosenDatabases {
    folder: PathBuf,
}

impl ChosenDatabases {
    /// Returns those kept below the user's state directory.
    #[must_use]
    pub fn in_directory(user_state: &Path) -> Self {
        Self {
            folder: user_state.join("databases"),
        }
    }

    /// Returns the database of the project at `root`, if one was chosen.
    #[must_use]
    pub fn of(&self, root: &Path) -> Option<DatabaseUrl> {
        std::fs::read_to_string(self.file(root))
            .ok()
            .map(|text| DatabaseUrl::new(&text))
    }

    /// Remembers the database of a project, or with `None` forgets it.
    ///
    /// # Errors
    /// When the user's directory cannot be written.
    pub fn choose(&self, root: &Path, url: Option<&DatabaseUrl>) -> io::Result<()> {
        let file = self.file(root);
        match url {
            Some(url) => {
                crate::private::create_directory(&self.folder)?;
                crate::durable::replace(
                    &file,
                    url.reveal().as_bytes(),
                    crate::durable::Durability::Synced,
                )
            }
            None if file.exists() => std::fs::remove_file(file),
            None => Ok(()),
        }
    }

    fn file(&self, root: &Path) -> PathBuf {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        self.folder
            .join(Digest32::of(root.as_os_str().as_encoded_bytes()).to_string())
    }
}
