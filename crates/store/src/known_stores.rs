//! Trusted stores: the store ids this user created or adopted.
//!
//! State that comes with a cloned repository is untrusted: its approvals count only after a person
//! adopted it. The list is kept in the user's own directory, whose place no file of a repository
//! can change.

use std::io;
use std::path::{Path, PathBuf};

use domain::ids::StoreId;

/// The user's trusted stores, one file per store id.
#[derive(Clone, Debug)]
pub struct KnownStores {
    folder: PathBuf,
}

impl KnownStores {
    /// Returns the list kept below the user's state directory.
    #[must_use]
    pub fn in_state_directory(user_state: &Path) -> Self {
        Self {
            folder: user_state.join("stores"),
        }
    }

    /// Whether this user created or adopted a store.
    #[must_use]
    pub fn is_known(&self, store: &StoreId) -> bool {
        self.store_file(store).is_some_and(|file| file.is_file())
    }

    /// Adds a store to the trusted ones.
    ///
    /// # Errors
    /// When the user's directory cannot be written.
    pub fn remember_store(&self, store: &StoreId, root: &Path) -> io::Result<()> {
        let file = self
            .store_file(store)
            .ok_or_else(|| io::Error::other("invalid store id"))?;
        crate::user_files::make_private_folder(&self.folder)?;
        // The content is the project's path: only `stores_at_root` reads it, trust is the file's
        // existence.
        crate::durable::replace_file(
            &file,
            format!("{}\n", root.display()).as_bytes(),
            crate::durable::Durability::Synced,
        )
    }

    /// Returns the stores this user had at `root`, unordered. Reads the whole list, so it is not
    /// for every command.
    #[must_use]
    pub fn stores_at_root(&self, root: &Path) -> Vec<StoreId> {
        // Compared as bytes including the line feed, exactly as `remember_store` wrote them.
        let wanted = format!("{}\n", root.display());
        let entries = std::fs::read_dir(&self.folder)
            .into_iter()
            .flatten()
            .flatten();
        let at_root = entries.filter(|entry| {
            std::fs::read(entry.path()).is_ok_and(|text| text == wanted.as_bytes())
        });
        at_root
            .filter_map(|entry| entry.file_name().into_string().ok().map(StoreId))
            .collect()
    }

    /// Returns the directory, for messages.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn store_file(&self, store: &StoreId) -> Option<PathBuf> {
        crate::user_files::store_file_path(&self.folder, store)
    }
}
