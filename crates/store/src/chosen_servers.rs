//! On which team server a project of this user is, and the token that lets them in.
//!
//! Kept like the choice of a database: in the user's own directory, readable for them alone.

use std::io;
use std::path::{Path, PathBuf};

use domain::ids::Digest32;
use domain::settings::ServerAddress;

/// The user's choices, by project.
#[derive(Clone, Debug)]
pub struct ChosenServers {
    folder: PathBuf,
}

impl ChosenServers {
    /// Returns those kept below the user's state directory.
    #[must_use]
    pub fn in_directory(user_state: &Path) -> Self {
        Self {
            folder: user_state.join("servers"),
        }
    }

    /// Returns the server of the project at `root`, if one was chosen.
    #[must_use]
    pub fn of(&self, root: &Path) -> Option<ServerAddress> {
        let text = std::fs::read_to_string(self.file(root)).ok()?;
        let mut lines = text.lines();
        ServerAddress::new(lines.next()?, lines.next()?).ok()
    }

    /// Remembers the server of a project, or with `None` forgets it; says whether there was one.
    ///
    /// # Errors
    /// When the user's directory cannot be written.
    pub fn choose(&self, root: &Path, server: Option<&ServerAddress>) -> io::Result<bool> {
        let file = self.file(root);
        let known = file.exists();
        match server {
            Some(server) => {
                crate::private::create_directory(&self.folder)?;
                let text = format!("{}\n{}\n", server.url(), server.reveal_token());
                crate::durable::replace(
                    &file,
                    text.as_bytes(),
                    crate::durable::Durability::Synced,
                )?;
            }
            None if known => std::fs::remove_file(file)?,
            None => {}
        }
        Ok(known)
    }

    fn file(&self, root: &Path) -> PathBuf {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        self.folder
            .join(Digest32::of(root.as_os_str().as_encoded_bytes()).to_string())
    }
}
