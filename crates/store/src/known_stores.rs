//! The stores this user made or adopted.
//!
//! State that comes with a cloned repository is somebody else's word: it counts only after a person
//! adopted it. What they adopted is remembered in the user's own directory, which no file of a
//! repository can move.

use std::io;
use std::path::{Path, PathBuf};

use domain::ids::StoreId;

/// The user's list of stores.
#[derive(Clone, Debug)]
pub struct KnownStores {
    folder: PathBuf,
}

impl KnownStores {
    /// Returns the list kept below the user's state directory.
    #[must_use]
    pub fn in_directory(user_state: &Path) -> Self {
        Self {
            folder: user_state.join("stores"),
        }
    }

    /// Says whether this user made or adopted a store.
    #[must_use]
    pub fn knows(&self, store: &StoreId) -> bool {
        self.file(store).is_some_and(|file| file.is_file())
    }

    /// Remembers a store.
    ///
    /// # Errors
    /// When the user's directory cannot be written.
    pub fn remember(&self, store: &StoreId, root: &Path) -> io::Result<()> {
        let file = self
            .file(store)
            .ok_or_else(|| io::Error::other("the store's id is not one of ours"))?;
        crate::user_files::make_private_folder(&self.folder)?;
        crate::durable::replace(
            &file,
            format!("{}\n", root.display()).as_bytes(),
            crate::durable::Durability::Synced,
        )
    }

    /// Returns the stores this user had at a place, in no order. Reads the whole list: not for every command.
    #[must_use]
    pub fn stores_at(&self, root: &Path) -> Vec<StoreId> {
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

    fn file(&self, store: &StoreId) -> Option<PathBuf> {
        crate::user_files::file_of_store(&self.folder, store)
    }
}
