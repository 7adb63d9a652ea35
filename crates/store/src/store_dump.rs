//! Store dump: the whole state as a list of operations, to move it between engines and into
//! backups.
//!
//! A dump holds the operations with their texts, in the journal's form. The receiver rebuilds the
//! same state from them, so that comparing the chains and verifying the tables compares everything.
//! Notes and file stamps are not part of it: they belong to one working copy.

use std::collections::HashSet;

use domain::ids::{OperationId, StoreId, VersionHash};
use domain::ports::{Store, StoreFault, StoreFindingKind};
use domain::settings::Storage;

use crate::engine::{ChainedOperation, EngineSettings, io_fault};
use crate::journal::{Journal, chain_start_hash};
use crate::layout::Layout;
use crate::postgres::PostgresStore;
use crate::quarantine::ChainHead;
use crate::sqlite::SqliteStore;

/// Every operation of a store.
pub struct StoreDump {
    pub(crate) store: StoreId,
    pub(crate) recorded: Vec<ChainedOperation>,
}

impl StoreDump {
    pub(crate) fn new(store: StoreId, recorded: Vec<ChainedOperation>) -> Self {
        Self { store, recorded }
    }

    /// Collects every operation of an open store.
    ///
    /// # Errors
    /// [`StoreFault`] when it cannot be read.
    pub fn from_store(store: &dyn Store) -> Result<Self, StoreFault> {
        let state = store.begin_read()?;
        let id = state.store_id()?;
        let mut prev = chain_start_hash(&id);
        let mut next = OperationId(0);
        let mut recorded = Vec::new();
        for line in state.journal_lines(OperationId(0), usize::MAX)? {
            next = next.next_id();
            // Verified while it is collected: a damaged row must not get into a backup.
            let one = ChainedOperation::parse_journal_line(&line, next, prev)?;
            prev = one.hash;
            recorded.push(one);
        }
        Ok(Self {
            store: id,
            recorded,
        })
    }

    /// Returns the id of the last operation.
    #[must_use]
    pub fn head_operation(&self) -> OperationId {
        self.recorded
            .last()
            .map(|one| one.operation.id)
            .unwrap_or_default()
    }

    /// Returns the head of the hash chain.
    #[must_use]
    pub fn chain_head(&self) -> ChainHead {
        let hash = self
            .recorded
            .last()
            .map_or_else(|| chain_start_hash(&self.store), |one| one.hash);
        ChainHead {
            store: self.store.clone(),
            operation: self.head_operation(),
            hash,
        }
    }

    /// Returns the store's id.
    #[must_use]
    pub fn store_id(&self) -> &StoreId {
        &self.store
    }

    /// Whether the other history is a prefix of this one.
    #[must_use]
    pub fn starts_with(&self, other: &Self) -> bool {
        let same = |(own, other): (&ChainedOperation, &ChainedOperation)| {
            own.hash == other.hash && own.body == other.body
        };
        self.store == other.store
            && self.recorded.len() >= other.recorded.len()
            && self.recorded.iter().zip(&other.recorded).all(same)
    }

    /// Checks that this is a lossless copy of the other. Texts that the other lacks are ignored: a
    /// state rebuilt from the mirror has no texts that were edited since.
    pub(crate) fn check_copy_of(&self, other: &Self) -> Result<(), StoreFault> {
        let texts = |cargo: &Self| -> HashSet<VersionHash> {
            cargo
                .recorded
                .iter()
                .flat_map(|one| one.texts.iter().map(|(hash, _)| *hash))
                .collect()
        };
        match self.is_same_history(other) && texts(self).is_superset(&texts(other)) {
            true => Ok(()),
            false => Err(StoreFault::Damaged {
                what: "the copy differs from the state it was built from".to_owned(),
            }),
        }
    }

    pub(crate) fn is_same_history(&self, other: &Self) -> bool {
        self.starts_with(other) && other.starts_with(self)
    }
}

/// Dumps the whole state of a project.
///
/// # Errors
/// [`StoreFault`] when it cannot be read, or is damaged.
pub fn dump_store(layout: &Layout, storage: Storage) -> Result<StoreDump, StoreFault> {
    let (store, recorded) = match storage {
        // A replica is an ordinary SQLite store.
        Storage::Sqlite | Storage::Remote => {
            SqliteStore::open(layout, &EngineSettings::default())?.load_all_entries()?
        }
        Storage::Postgres => {
            PostgresStore::open(layout, &EngineSettings::default())?.load_all_entries()?
        }
        Storage::Json => return dump_journal(&Journal::new(&layout.journal)),
    };
    Ok(StoreDump { store, recorded })
}

/// Dumps the store of a journal.
pub(crate) fn dump_journal(journal: &Journal) -> Result<StoreDump, StoreFault> {
    let contents = journal
        .read_all_entries()
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => StoreFault::Missing,
            _ => io_fault("cannot read", journal.path(), error),
        })?;
    contents.check_format_version()?;
    // A torn last line was never acknowledged, so it is not part of the history.
    if let Some(damage) = contents.damage.filter(|damage| !damage.torn) {
        return Err(StoreFault::Damaged {
            what: format!("line {}: {}", damage.line, damage.what),
        });
    }
    let store = contents.store.ok_or_else(|| StoreFault::Damaged {
        what: "it has no journal header".to_owned(),
    })?;
    Ok(StoreDump {
        store,
        recorded: contents.entries,
    })
}

/// Opens a newly built state, verifies all of it, and compares it with its source.
///
/// # Errors
/// [`StoreFault::Damaged`] when it is not the same.
pub(crate) fn verify_built_state(
    layout: &Layout,
    storage: Storage,
    cargo: &StoreDump,
) -> Result<(), StoreFault> {
    // Without the mirror: the state is not in use yet, and may never be.
    let settings = EngineSettings {
        mirror: false,
        ..EngineSettings::default()
    };
    let found = match storage {
        Storage::Sqlite | Storage::Remote => {
            SqliteStore::open(layout, &settings)?.verify_integrity()?
        }
        Storage::Postgres => PostgresStore::open(layout, &settings)?.verify_integrity()?,
        Storage::Json => Vec::new(),
    };
    if let Some(first) = found
        .iter()
        // Missing texts are compared below: the source may lack them as well.
        .find(|finding| finding.kind != StoreFindingKind::TextMissing)
    {
        return Err(StoreFault::Damaged {
            what: first.message.clone(),
        });
    }
    dump_store(layout, storage)?.check_copy_of(cargo)
}
