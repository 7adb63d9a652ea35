//! Pinned trust policies: per store, the strictest policy this user has seen, or the one accepted.
//!
//! A project's `config.toml` comes with a repository and can be edited by any agent. The pin
//! overrides it until a person accepts a looser policy (`tl policy accept`).

use std::io;
use std::path::{Path, PathBuf};

use domain::ids::StoreId;
use domain::trust_policy::TrustPolicy;

use crate::durable::{Durability, replace_file};
use crate::user_files::{make_private_folder, store_file_path};

/// The user's pinned policies, one file per store.
#[derive(Clone, Debug)]
pub struct PolicyPins {
    folder: PathBuf,
}

impl PolicyPins {
    /// Returns the pins kept below the user's state directory.
    #[must_use]
    pub fn in_state_directory(user_state: &Path) -> Self {
        Self {
            folder: user_state.join("policies"),
        }
    }

    /// Returns the policy pinned for a store; `None` when the store is seen for the first time.
    ///
    /// # Errors
    /// When the pin exists but cannot be read: damaging it must not loosen the policy.
    pub fn load_pin(&self, store: &StoreId) -> io::Result<Option<TrustPolicy>> {
        // An id in another form was never ours and so was never pinned.
        let Some(file) = store_file_path(&self.folder, store) else {
            return Ok(None);
        };
        match std::fs::read(&file) {
            // Unknown fields or values are an error as well: falling back to a default would be
            // looser.
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(io::Error::other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Pins a policy, synced to disk.
    ///
    /// # Errors
    /// When the user's directory cannot be written.
    pub fn save_pin(&self, store: &StoreId, policy: &TrustPolicy) -> io::Result<()> {
        let file = store_file_path(&self.folder, store)
            .ok_or_else(|| io::Error::other("invalid store id"))?;
        make_private_folder(&self.folder)?;
        let mut bytes = serde_json::to_vec_pretty(policy).map_err(io::Error::other)?;
        bytes.push(b'\n');
        replace_file(&file, &bytes, Durability::Synced)
    }

    /// Returns the directory, for messages.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}
