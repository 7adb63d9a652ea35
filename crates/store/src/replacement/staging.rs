//! Staging: builds a state beside the present one in `replacing/`, verified and synced before the
//! swap.

use std::fs;
use std::path::{Path, PathBuf};

use domain::ids::StoreId;
use domain::ports::StoreFault;
use domain::settings::Storage;

use crate::durable::{parent_folder, sync_folder};
use crate::engine::{ChainedOperation, EngineSettings, io_fault};
use crate::journal::Journal;
use crate::layout::Layout;
use crate::private_files::create_private_directory;
use crate::recovery::write_token_store;
use crate::sqlite::SqliteStore;
use crate::store_dump::{StoreDump, verify_built_state};
use crate::tables::access::AccessContents;

/// Returns the layout of the staged state.
pub(crate) fn staged_layout(layout: &Layout) -> Layout {
    let folder = staging_folder(layout);
    Layout {
        database: folder.join("state.db"),
        journal: folder.join("journal.jsonl"),
        ..layout.clone()
    }
}

/// Returns the folder of the staged state.
pub(super) fn staging_folder(layout: &Layout) -> PathBuf {
    // Beside the journal, so that the renames stay within one file system.
    parent_folder(&layout.journal).join("replacing")
}

/// Builds, verifies and syncs a staged state; `with_journal` is false where the present journal
/// stays.
pub(crate) fn build_staged_state(
    layout: &Layout,
    storage: Storage,
    cargo: &StoreDump,
    book: &AccessContents,
    with_journal: bool,
) -> Result<(), StoreFault> {
    let folder = staging_folder(layout);
    // Leftovers of a killed process: without a note nothing refers to them.
    remove_staging_folder(layout);
    create_private_directory(&folder).map_err(|error| io_fault("cannot create", &folder, error))?;
    let mut place = staged_layout(layout);
    let size = match with_journal {
        true => write_staged_journal(&place.journal, &cargo.store, &cargo.recorded)?,
        false => {
            place.journal.clone_from(&layout.journal);
            let size = Journal::new(&place.journal).read_size();
            size.map_err(|error| io_fault("cannot read", &place.journal, error))?
                .unwrap_or(0)
        }
    };
    if storage == Storage::Sqlite {
        SqliteStore::build_database(&place, &cargo.store, &cargo.recorded, size)?;
        write_token_store(&place, storage, book)?;
    }
    // Verified in full before the old state is touched: this is the last moment at which a failure
    // costs nothing.
    verify_built_state(&place, storage, cargo)?;
    if storage == Storage::Sqlite {
        // Into the main file: only that one is renamed, a staged WAL would be left behind.
        SqliteStore::open(&place, &EngineSettings::default())?.checkpoint_log()?;
        let synced = fs::File::open(&place.database).and_then(|file| file.sync_all());
        synced.map_err(|error| io_fault("cannot write", &place.database, error))?;
    }
    sync_folder(&folder).map_err(|error| io_fault("cannot write", &folder, error))
}

/// Writes the staged journal and returns its size.
fn write_staged_journal(
    path: &Path,
    store: &StoreId,
    recorded: &[ChainedOperation],
) -> Result<u64, StoreFault> {
    let lines = recorded
        .iter()
        .map(ChainedOperation::to_journal_line)
        .collect::<Result<Vec<_>, _>>()?;
    Journal::new(path)
        .write_new_journal(store, &lines)
        .map_err(|error| io_fault("cannot write", path, error))
}

/// Removes the staged state, if there is one.
pub(crate) fn remove_staging_folder(layout: &Layout) {
    let folder = staging_folder(layout);
    // A link that came with a repository is removed, not followed: its target may be outside.
    let _ = match folder.symlink_metadata() {
        Ok(found) if found.is_dir() => fs::remove_dir_all(&folder),
        Ok(_) => fs::remove_file(&folder),
        Err(_) => Ok(()),
    };
}
