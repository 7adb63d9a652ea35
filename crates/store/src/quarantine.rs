//! Quarantine: damaged, replaced or moved state, in numbered folders below `.throughline/damaged`.
//!
//! A set holds what belonged together (database, journal) with a manifest that says when and why.
//! Nothing is ever deleted automatically; recovery reads the sets before the mirror, and a person
//! can restore one.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use domain::ids::{Digest32, OperationId, StoreId};
use domain::ports::StoreFault;
use domain::settings::Storage;
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::durable::{Durability, replace_file, sync_folder};
use crate::engine::{ChainedOperation, EngineSettings, io_fault};
use crate::journal::{Journal, JournalDamage, chain_start_hash};
use crate::layout::Layout;
use crate::private_files::create_private_directory;
use crate::replacement::{DATABASE_SUFFIXES, with_suffix};
use crate::sqlite::SqliteStore;
use crate::store_dump::StoreDump;

const MANIFEST_FILE: &str = "manifest.json";
const DATABASE_FILE: &str = "state.db";
const JOURNAL_FILE: &str = "journal.jsonl";

/// Head of a journal's hash chain: store, last operation and its hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainHead {
    pub store: StoreId,
    pub operation: OperationId,
    pub hash: Digest32,
}

/// Why a set of files is in quarantine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QuarantineReason {
    /// The state was unusable.
    Damaged,
    /// Another state replaced it.
    Replaced,
    /// The state was moved to another engine.
    Moved,
    /// A replica of a team server.
    Replica,
}

/// Content of `manifest.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct QuarantineManifest {
    pub(crate) at: Timestamp,
    pub(crate) reason: QuarantineReason,
    pub(crate) why: String,
    pub(crate) head: Option<ChainHead>,
    /// The engine the state was moved to, until a state is local again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) moved_to: Option<Storage>,
}

impl QuarantineManifest {
    pub(crate) fn new(
        at: Timestamp,
        reason: QuarantineReason,
        why: &str,
        head: Option<ChainHead>,
    ) -> Self {
        Self {
            at,
            reason,
            why: why.to_owned(),
            head,
            moved_to: None,
        }
    }
}

/// A quarantined set, as listed.
#[derive(Clone, Debug, Serialize)]
pub struct QuarantinedState {
    pub id: String,
    /// When it was quarantined; unknown for a set without a manifest.
    pub at: Option<Timestamp>,
    pub reason: Option<QuarantineReason>,
    pub why: String,
    pub files: Vec<String>,
    /// Number of complete operations that can be read from it.
    pub operations: usize,
    pub head: Option<ChainHead>,
}

/// A quarantine folder.
#[derive(Clone, Debug)]
pub(crate) struct QuarantineSet {
    pub(crate) id: String,
    folder: PathBuf,
}

impl QuarantineSet {
    /// Creates a set's folder and manifest, synced; the files are moved in later.
    pub(crate) fn create_set(
        layout: &Layout,
        manifest: &QuarantineManifest,
    ) -> Result<Self, StoreFault> {
        let cannot = |error| io_fault("cannot write in", &layout.damaged, error);
        create_private_directory(&layout.damaged).map_err(cannot)?;
        let newest = list_set_numbers(layout)
            .map_err(cannot)?
            .last()
            .copied()
            .unwrap_or(0);
        let mut number = newest + 1;
        let set = loop {
            let set = Self {
                id: number.to_string(),
                folder: layout.damaged.join(number.to_string()),
            };
            // `mkdir` is atomic, so two processes never share a set.
            match DirBuilder::new().mode(0o700).create(&set.folder) {
                Ok(()) => break set,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(cannot(error)),
            }
        };
        let written = set
            .write_manifest(manifest)
            .and_then(|()| sync_folder(&layout.damaged));
        if let Err(error) = written {
            set.remove_if_empty();
            return Err(cannot(error));
        }
        Ok(set)
    }

    /// Returns the set with this id, whether or not it exists; `None` for an id in another form.
    pub(crate) fn with_id(layout: &Layout, id: &str) -> Option<Self> {
        // The id may come from a recovery note in a cloned repository: `../..` must not become a
        // path.
        let fits = (1..=9).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit());
        fits.then(|| Self {
            id: id.to_owned(),
            folder: layout.damaged.join(id),
        })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the path of the database or one of its companions (`-wal`, `-shm`) in the set.
    pub(crate) fn database_path(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{DATABASE_FILE}{ending}"))
    }

    pub(crate) fn journal_path(&self) -> PathBuf {
        self.folder.join(JOURNAL_FILE)
    }

    fn write_manifest(&self, manifest: &QuarantineManifest) -> io::Result<()> {
        let bytes = serde_json::to_vec_pretty(manifest).map_err(io::Error::other)?;
        replace_file(&self.folder.join(MANIFEST_FILE), &bytes, Durability::Synced)
    }

    pub(crate) fn read_manifest(&self) -> Option<QuarantineManifest> {
        serde_json::from_slice(&fs::read(self.folder.join(MANIFEST_FILE)).ok()?).ok()
    }

    /// Moves a file into the set, numbering it if the name is taken.
    pub(crate) fn move_file_in(&self, path: &Path, target: PathBuf) -> Result<(), StoreFault> {
        let mut free = target.clone();
        for number in 1_u32.. {
            if free.symlink_metadata().is_err() {
                break;
            }
            let mut name = target.as_os_str().to_owned();
            name.push(format!(".{number}"));
            free = PathBuf::from(name);
        }
        // A rename, never a copy: it needs no space on a full disk, and the file is in one place
        // only.
        match fs::rename(path, &free) {
            // Already moved: a resumed swap repeats its steps.
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(io_fault("cannot quarantine", path, error))
            }
            _ => Ok(()),
        }
    }

    /// Syncs the set's folder.
    pub(crate) fn sync_to_disk(&self) -> Result<(), StoreFault> {
        sync_folder(&self.folder).map_err(|error| io_fault("cannot write", &self.folder, error))
    }

    /// Removes a set that has no files.
    pub(crate) fn remove_if_empty(&self) {
        if self.is_empty() {
            let _ = fs::remove_file(self.folder.join(MANIFEST_FILE));
            let _ = fs::remove_dir(&self.folder);
        }
    }

    /// Lists its files, sorted, without the manifest and temporary files.
    fn list_files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| name != MANIFEST_FILE && !name.starts_with(".tl-"))
            .collect();
        names.sort();
        names
    }

    /// Whether the set has no files.
    pub(crate) fn is_empty(&self) -> bool {
        self.list_files().is_empty()
    }

    /// Reads every complete operation of the set.
    pub(crate) fn read_operations(
        &self,
        layout: &Layout,
    ) -> Result<Option<RecoveredOperations>, StoreFault> {
        let place = Layout {
            database: self.database_path(""),
            journal: self.journal_path(),
            ..layout.clone()
        };
        RecoveredOperations::read_from(&place)
    }

    fn describe_set(&self, layout: &Layout) -> QuarantinedState {
        let manifest = self.read_manifest();
        // A set that cannot be read is listed all the same: the user should know that it exists.
        let kept = self.read_operations(layout).ok().flatten();
        QuarantinedState {
            id: self.id.clone(),
            at: manifest.as_ref().map(|manifest| manifest.at),
            reason: manifest.as_ref().map(|manifest| manifest.reason),
            why: manifest.map_or_else(
                || "unknown: it has no manifest".to_owned(),
                |manifest| manifest.why,
            ),
            files: self.list_files(),
            operations: kept.as_ref().map_or(0, |kept| kept.entries.len()),
            head: kept.as_ref().map(RecoveredOperations::chain_head),
        }
    }
}

/// The operations that can be read from a journal and the database beside it.
pub(crate) struct RecoveredOperations {
    pub(crate) store: StoreId,
    pub(crate) entries: Vec<ChainedOperation>,
    /// Whether the journal is complete and has all of them.
    pub(crate) journal_is_good: bool,
    pub(crate) damage: Option<JournalDamage>,
    /// Number of operations that only the database had.
    pub(crate) salvaged: usize,
    /// Whether no operation is known to be missing after the last one.
    is_whole: bool,
}

impl RecoveredOperations {
    /// Reads the journal, and the operations that a missing or damaged journal lacks from the
    /// database.
    ///
    /// # Errors
    /// [`StoreFault::Newer`] when a newer program wrote it.
    pub(crate) fn read_from(layout: &Layout) -> Result<Option<Self>, StoreFault> {
        let journal = Journal::new(&layout.journal);
        let (store, mut entries, damage) = match journal.read_all_entries() {
            Ok(contents) => {
                contents.check_format_version()?;
                (contents.store, contents.entries, contents.damage)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => (None, Vec::new(), None),
            Err(error) => return Err(io_fault("cannot read", journal.path(), error)),
        };
        let journal_is_good = store.is_some() && damage.is_none();
        let settings = EngineSettings::default();
        let row = match journal_is_good {
            // An intact journal is sufficient: opening the database would write beside it.
            true => None,
            false => SqliteStore::open(layout, &settings)
                .and_then(|database| database.read_store_row())
                .ok(),
        };
        let Some(store) = store.or_else(|| row.as_ref().map(|row| row.store.clone())) else {
            return Ok(None);
        };
        let torn = damage.as_ref().is_some_and(|damage| damage.torn);
        let mut salvaged = 0;
        if !journal_is_good {
            // Salvage continues where the journal ends and stops at the first row that does not
            // chain.
            let end = entries.last().map(|entry| (entry.operation.id, entry.hash));
            let (after, prev) = end.unwrap_or_else(|| (OperationId(0), chain_start_hash(&store)));
            let more = SqliteStore::salvage_operations(layout, &settings, after, prev);
            salvaged = more.len();
            entries.extend(more);
        }
        let reached =
            row.is_some_and(|row| row.store == store && row.head.0 <= entries.len() as u64);
        // A torn last line was never acknowledged, so nothing is lost with it.
        let is_whole = journal_is_good || torn || reached;
        Ok(Some(Self {
            store,
            entries,
            journal_is_good,
            damage,
            salvaged,
            is_whole,
        }))
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }

    pub(crate) fn chain_head(&self) -> ChainHead {
        let end = self
            .entries
            .last()
            .map(|entry| (entry.operation.id, entry.hash));
        let (operation, hash) =
            end.unwrap_or_else(|| (OperationId(0), chain_start_hash(&self.store)));
        ChainHead {
            store: self.store.clone(),
            operation,
            hash,
        }
    }

    pub(crate) fn into_store_dump(self) -> StoreDump {
        StoreDump::new(self.store, self.entries)
    }
}

/// Lists the numbers of the sets, oldest first.
fn list_set_numbers(layout: &Layout) -> io::Result<Vec<u32>> {
    let entries = match fs::read_dir(&layout.damaged) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut numbers = Vec::new();
    for entry in entries {
        numbers.extend(
            entry?
                .file_name()
                .to_str()
                .and_then(|name| name.parse::<u32>().ok()),
        );
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Lists all sets, newest first.
pub(crate) fn list_sets(layout: &Layout) -> Result<Vec<QuarantineSet>, StoreFault> {
    let numbers = list_set_numbers(layout)
        .map_err(|error| io_fault("cannot read", &layout.damaged, error))?;
    Ok(numbers
        .into_iter()
        .rev()
        .filter_map(|number| QuarantineSet::with_id(layout, &number.to_string()))
        .collect())
}

/// Lists what is in quarantine, newest first.
///
/// # Errors
/// [`StoreFault`] when the folder cannot be read.
pub fn list_quarantined_states(layout: &Layout) -> Result<Vec<QuarantinedState>, StoreFault> {
    // A set without files was left by a process killed before its first rename.
    Ok(list_sets(layout)?
        .iter()
        .map(|set| set.describe_set(layout))
        .filter(|set| !set.files.is_empty())
        .collect())
}

/// Reads the operations of a quarantined state, to restore it.
///
/// # Errors
/// [`StoreFault::Missing`] when there is no such set, [`StoreFault::Damaged`] when no operation can
/// be read from it.
pub fn load_quarantined_state(layout: &Layout, id: &str) -> Result<StoreDump, StoreFault> {
    let set = QuarantineSet::with_id(layout, id)
        .filter(|set| set.folder.is_dir())
        .ok_or(StoreFault::Missing)?;
    let unreadable = || StoreFault::Damaged {
        what: "neither its journal nor its database can be read".to_owned(),
    };
    Ok(set
        .read_operations(layout)?
        .ok_or_else(unreadable)?
        .into_store_dump())
}

/// Clears the "moved to" marks of all sets, because a state is local again.
pub(crate) fn clear_moved_marks(layout: &Layout) {
    for set in list_sets(layout).unwrap_or_default() {
        if let Some(manifest) = set
            .read_manifest()
            .filter(|manifest| manifest.moved_to.is_some())
        {
            // Best effort: a mark that stays makes a later recovery refuse with `Moved`, which
            // costs the user one more command.
            let _ = set.write_manifest(&QuarantineManifest {
                moved_to: None,
                ..manifest
            });
        }
    }
}

/// Moves files into a new set, in the given order, and returns its path for messages.
pub(crate) fn quarantine_files(
    layout: &Layout,
    manifest: &QuarantineManifest,
    files: impl IntoIterator<Item = PathBuf>,
) -> Result<Option<String>, StoreFault> {
    let files: Vec<PathBuf> = files
        .into_iter()
        .filter(|file| file.symlink_metadata().is_ok())
        .collect();
    if files.is_empty() {
        return Ok(None);
    }
    let set = QuarantineSet::create_set(layout, manifest)?;
    for file in files {
        // The database's name is configurable; inside a set it is fixed, so that recovery finds it
        // after the setting changed.
        let ending = DATABASE_SUFFIXES
            .into_iter()
            .find(|ending| with_suffix(&layout.database, ending) == file);
        let target = match ending {
            Some(ending) => set.database_path(ending),
            None => set.folder.join(file.file_name().unwrap_or_default()),
        };
        set.move_file_in(&file, target)?;
    }
    set.sync_to_disk()?;
    Ok(Some(layout.relative_display(&set.folder)))
}
