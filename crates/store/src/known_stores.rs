//! Trusted stores: the store ids this user created, adopted, or built from a clone's plan files.
//!
//! State that comes with a cloned repository is untrusted: its approvals count only after a person
//! adopted it. The list is kept in the user's own directory, whose place no file of a repository
//! can change.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use domain::ids::StoreId;

/// The user's trusted stores, one file per store id.
///
/// A file's first line is the project's path. `adopted: no` marks a store that was built without a
/// person's word, and `directory: …` identifies the state folder it was built in; files from before
/// these lines are of created or adopted stores.
#[derive(Clone, Debug)]
pub struct KnownStores {
    folder: PathBuf,
}

const NOT_ADOPTED: &str = "adopted: no";
const DIRECTORY_KEY: &str = "directory: ";

impl KnownStores {
    /// Returns the list kept below the user's state directory.
    #[must_use]
    pub fn in_state_directory(user_state: &Path) -> Self {
        Self {
            folder: user_state.join("stores"),
        }
    }

    /// Whether this user created, adopted or built a store.
    #[must_use]
    pub fn is_known(&self, store: &StoreId) -> bool {
        self.store_file(store).is_some_and(|file| file.is_file())
    }

    /// Whether decisions of others count in a store: this user created it, adopted it, or built it
    /// in a worktree of a repository with such a store.
    #[must_use]
    pub fn is_adopted(&self, store: &StoreId) -> bool {
        self.store_file(store)
            .and_then(|file| fs::read_to_string(file).ok())
            .is_some_and(|text| is_adopted_entry(&text))
    }

    /// Adds a store to the trusted ones. One that is not adopted yet stays so.
    ///
    /// # Errors
    /// When the user's directory cannot be written.
    pub fn remember_store(&self, store: &StoreId, root: &Path) -> io::Result<()> {
        let adopted = !self.is_known(store) || self.is_adopted(store);
        self.write_entry(store, root, adopted)
    }

    /// Adds a store to the trusted ones as adopted, after a person's word.
    ///
    /// # Errors
    /// When the user's directory cannot be written.
    pub fn adopt_store(&self, store: &StoreId, root: &Path) -> io::Result<()> {
        self.write_entry(store, root, true)
    }

    /// Adds a store that was built from plan files; `adopted` if a worktree of the same repository
    /// has an adopted one.
    pub(crate) fn remember_built_store(
        &self,
        store: &StoreId,
        root: &Path,
        adopted: bool,
    ) -> io::Result<()> {
        self.write_entry(store, root, adopted)
    }

    fn write_entry(&self, store: &StoreId, root: &Path, adopted: bool) -> io::Result<()> {
        let file = self
            .store_file(store)
            .ok_or_else(|| io::Error::other("invalid store id"))?;
        crate::user_files::make_private_folder(&self.folder)?;
        let mut text = format!("{}\n", root.display());
        if !adopted {
            text.push_str(&format!("{NOT_ADOPTED}\n"));
        }
        if let Some(directory) = identify_state_folder(root) {
            text.push_str(&format!("{DIRECTORY_KEY}{directory}\n"));
        }
        crate::durable::replace_file(&file, text.as_bytes(), crate::durable::Durability::Synced)
    }

    /// Returns the stores this user had at `root`, unordered. Reads the whole list, so it is not
    /// for every command.
    #[must_use]
    pub fn stores_at_root(&self, root: &Path) -> Vec<StoreId> {
        let entries = self.entries_at(root).into_iter();
        entries.map(|(store, _)| store).collect()
    }

    /// Whether this user had a store in the state folder that is at `root` now, and not only in an
    /// earlier directory of the same name.
    pub(crate) fn had_store_in(&self, root: &Path) -> bool {
        let present = identify_state_folder(root);
        self.entries_at(root).iter().any(|(_, text)| {
            let recorded = text
                .lines()
                .find_map(|line| line.strip_prefix(DIRECTORY_KEY));
            recorded.is_none() || recorded == present.as_deref()
        })
    }

    /// Whether one of these project directories has an adopted store.
    pub(crate) fn has_adopted_store(&self, roots: &[PathBuf]) -> bool {
        roots.iter().any(|root| {
            let mut entries = self.entries_at(root).into_iter();
            entries.any(|(_, text)| is_adopted_entry(&text))
        })
    }

    fn entries_at(&self, root: &Path) -> Vec<(StoreId, String)> {
        // Compared including the line feed, exactly as it was written.
        let wanted = format!("{}\n", root.display());
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| {
                let text = String::from_utf8_lossy(&fs::read(entry.path()).ok()?).into_owned();
                let store = StoreId(entry.file_name().into_string().ok()?);
                text.starts_with(&wanted).then_some((store, text))
            })
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

fn is_adopted_entry(text: &str) -> bool {
    !text.lines().skip(1).any(|line| line == NOT_ADOPTED)
}

/// Identifies a project's state folder: its inode and, because inodes are reused, its creation
/// time. A clone or worktree that was removed and made again at the same path has another one.
fn identify_state_folder(root: &Path) -> Option<String> {
    let metadata = fs::metadata(root.join(crate::layout::STATE_FOLDER)).ok()?;
    let created = metadata
        .created()
        .ok()
        .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok())
        .map_or(0, |time| time.as_nanos());
    Some(format!("{} {created}", metadata.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store_id(last: char) -> StoreId {
        StoreId(format!("00000000-0000-0000-0000-00000000000{last}"))
    }

    #[test]
    fn a_built_store_is_known_but_adopted_only_by_a_persons_word() {
        let folder = tempfile::tempdir().unwrap();
        let known = KnownStores::in_state_directory(&folder.path().join("user"));
        let (created, built) = (store_id('1'), store_id('2'));
        known.remember_store(&created, folder.path()).unwrap();
        known
            .remember_built_store(&built, folder.path(), false)
            .unwrap();
        assert!(known.is_adopted(&created));
        assert!(known.is_known(&built) && !known.is_adopted(&built));
        // A replacement of its state remembers the store again, which is nobody's word.
        known.remember_store(&built, folder.path()).unwrap();
        assert!(!known.is_adopted(&built));
        known.adopt_store(&built, folder.path()).unwrap();
        assert!(known.is_adopted(&built));
        assert!(!known.is_adopted(&store_id('3')));
    }

    #[test]
    fn a_directory_made_again_at_the_same_path_is_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("work");
        let known = KnownStores::in_state_directory(&folder.path().join("user"));
        fs::create_dir_all(root.join(".throughline")).unwrap();
        assert!(!known.had_store_in(&root));
        known.remember_store(&store_id('1'), &root).unwrap();
        assert!(known.had_store_in(&root));
        fs::rename(&root, folder.path().join("elsewhere")).unwrap();
        fs::create_dir_all(root.join(".throughline")).unwrap();
        assert!(!known.had_store_in(&root));
        assert_eq!(known.stores_at_root(&root), [store_id('1')]);
        assert!(known.has_adopted_store(std::slice::from_ref(&root)));
    }
}
