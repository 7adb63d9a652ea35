//! Per-user choice of the team server of each project, with the access token.
//!
//! Kept like the choice of a database, in the user's own directory with mode 0600, because a
//! repository must not choose who gets the token.

use std::io;
use std::path::{Path, PathBuf};

use domain::ids::Digest32;
use domain::settings::ServerAddress;

/// The user's choices, one file per project.
#[derive(Clone, Debug)]
pub struct ChosenServers {
    folder: PathBuf,
}

impl ChosenServers {
    /// Returns the choices kept below the user's state directory.
    #[must_use]
    pub fn in_state_directory(user_state: &Path) -> Self {
        Self {
            folder: user_state.join("servers"),
        }
    }

    /// Returns the server chosen for the project at `root`.
    #[must_use]
    pub fn load_address(&self, root: &Path) -> Option<ServerAddress> {
        let text = std::fs::read_to_string(self.choice_file(root)).ok()?;
        // Two lines, URL and token. Validated again on reading: a damaged file counts as no choice.
        let mut lines = text.lines();
        ServerAddress::new(lines.next()?, lines.next()?).ok()
    }

    /// Sets the server of a project, or removes the choice with `None`; returns whether one was
    /// set.
    ///
    /// # Errors
    /// When the user's directory cannot be written.
    pub fn set_address(&self, root: &Path, server: Option<&ServerAddress>) -> io::Result<bool> {
        let file = self.choice_file(root);
        let known = file.exists();
        match server {
            Some(server) => {
                crate::private_files::create_private_directory(&self.folder)?;
                let text = format!("{}\n{}\n", server.url(), server.reveal_token());
                crate::durable::replace_file(
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

    fn choice_file(&self, root: &Path) -> PathBuf {
        // Canonical, so that a link to the project finds the same choice.
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        self.folder
            .join(Digest32::of_bytes(root.as_os_str().as_encoded_bytes()).to_string())
    }
}
