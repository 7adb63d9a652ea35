//! Building a state beside the present one: in `replacing/`, verified and synced before anything counts.

use std::fs;
use std::path::{Path, PathBuf};

use domain::ids::StoreId;
use domain::ports::StoreFault;
use domain::settings::Storage;

use super::swap::folder_of;
use crate::durable::sync_folder;
use crate::engine::{EngineSettings, Recorded, io_fault};
use crate::journal::Journal;
use crate::layout::Layout;
use crate::quarantine::make_private_folder;
use crate::recovery::put_book;
use crate::sqlite::SqliteStore;
use crate::tables::access::BookContents;
use crate::transfer::{Cargo, verify_built};

/// Returns the project with its state in the folder where it is built.
pub(crate) fn staged(layout: &Layout) -> Layout {
    let folder = staging_folder(layout);
    Layout {
        database: folder.join("state.db"),
        journal: folder.join("journal.jsonl"),
        ..layout.clone()
    }
}

pub(super) fn staging_folder(layout: &Layout) -> PathBuf {
    folder_of(&layout.journal).join("replacing")
}

/// Builds and verifies a state beside the present one, and syncs it; without its journal where the present one stays.
pub(crate) fn build_staged(
    layout: &Layout,
    storage: Storage,
    cargo: &Cargo,
    book: &BookContents,
    with_journal: bool,
) -> Result<(), StoreFault> {
    let folder = staging_folder(layout);
    remove_staging(layout);
    make_private_folder(&folder).map_err(|error| io_fault("cannot make", &folder, error))?;
    let mut place = staged(layout);
    let size = match with_journal {
        true => write_journal(&place.journal, &cargo.store, &cargo.recorded)?,
        false => {
            place.journal.clone_from(&layout.journal);
            let size = Journal::at(&place.journal).size();
            size.map_err(|error| io_fault("cannot read", &place.journal, error))?
                .unwrap_or(0)
        }
    };
    if storage == Storage::Sqlite {
        SqliteStore::build_from(&place, &cargo.store, &cargo.recorded, size)?;
        put_book(&place, storage, book)?;
    }
    verify_built(&place, storage, cargo)?;
    if storage == Storage::Sqlite {
        SqliteStore::open(&place, &EngineSettings::default())?.checkpoint()?;
        let synced = fs::File::open(&place.database).and_then(|file| file.sync_all());
        synced.map_err(|error| io_fault("cannot write", &place.database, error))?;
    }
    sync_folder(&folder).map_err(|error| io_fault("cannot write", &folder, error))
}

fn write_journal(path: &Path, store: &StoreId, recorded: &[Recorded]) -> Result<u64, StoreFault> {
    let lines = recorded
        .iter()
        .map(Recorded::line)
        .collect::<Result<Vec<_>, _>>()?;
    Journal::at(path)
        .write_whole(store, &lines)
        .map_err(|error| io_fault("cannot write", path, error))
}

pub(crate) fn remove_staging(layout: &Layout) {
    let folder = staging_folder(layout);
    // A link that came with a repository is removed, not followed.
    let _ = match folder.symlink_metadata() {
        Ok(found) if found.is_dir() => fs::remove_dir_all(&folder),
        Ok(_) => fs::remove_file(&folder),
        Err(_) => Ok(()),
    };
}
