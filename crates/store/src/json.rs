//! The JSON engine: the journal is the source of truth, the mirror its readable form, no database.
//!
//! For file systems on which SQLite's WAL mode is not safe. Every command replays the whole
//! journal, so it slows down as the history grows; durability and atomicity are the same.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::sync::Mutex;
use std::time::Duration;

use domain::file_writes::BUILT_NOTE;
use domain::ids::{OperationId, StoreId};
use domain::ports::{
    HistoryState, NodeReader, OperationReader, Snapshot, Store, StoreFault, StoreFinding,
    StoreFindingKind, Transaction,
};
use domain::time::Timestamp;
use domain::tree::FactMismatch;

use crate::durable::{Durability, replace_file};
use crate::engine::{EngineSettings, io_fault};
use crate::file_lock::acquire_file_lock;
use crate::journal::{Journal, JournalContents, JournalDamage};
use crate::layout::Layout;
use crate::memory::{MemoryState, MemoryTransaction, drain_warnings};
use crate::mirror::Mirror;

/// A project's open state in JSON files.
pub(crate) struct JsonStore {
    layout: Layout,
    journal: Journal,
    mirror: Mirror,
    settings: EngineSettings,
    /// Result of the rollback check against this user's known head.
    history: Cell<HistoryState>,
    warnings: Mutex<Vec<String>>,
    /// Store and last operation of the last replay or commit.
    last_head: RefCell<Option<(StoreId, OperationId)>>,
}

impl JsonStore {
    /// Opens the state; fails when the journal is damaged.
    pub(crate) fn open(layout: &Layout, settings: &EngineSettings) -> Result<Self, StoreFault> {
        let store = Self {
            journal: Journal::new(&layout.journal),
            mirror: Mirror::new(&layout.mirror),
            layout: layout.clone(),
            settings: settings.clone(),
            history: Cell::default(),
            warnings: Mutex::default(),
            last_head: RefCell::default(),
        };
        // Replayed once just to check: damage has to surface while the caller can still rebuild.
        store.replay_journal()?;
        Ok(store)
    }

    /// Passes the store id to `accept`, then compares the history with this user's known head.
    pub(crate) fn compare_history(
        &self,
        accept: &dyn Fn(&StoreId) -> Result<(), StoreFault>,
    ) -> Result<(), StoreFault> {
        let state = self.replay_journal()?.0;
        accept(&state.store)?;
        let Some(heads) = &self.settings.heads else {
            return Ok(());
        };
        let head = (state.head(), state.head_hash);
        self.history
            .set(heads.compare_head(&state.store, head, &|number| state.chain_hash(number))?);
        Ok(())
    }

    /// Replays the journal into a state.
    pub(crate) fn load_state(&self) -> Result<MemoryState, StoreFault> {
        Ok(self.replay_journal()?.0)
    }

    fn remember_head(&self, state: &MemoryState) {
        self.last_head
            .replace(Some((state.store.clone(), state.head())));
    }

    fn read_journal(&self) -> Result<JournalContents, StoreFault> {
        self.journal
            .read_all_entries()
            .map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => StoreFault::Missing,
                _ => io_fault("cannot read", self.journal.path(), error),
            })
    }

    /// Replays the journal, ignoring a torn last line.
    fn replay_journal(&self) -> Result<(MemoryState, JournalContents), StoreFault> {
        let contents = self.read_journal()?;
        contents.check_format_version()?;
        // A torn last line is the trace of a crash during an append that was never acknowledged, so
        // it does not count as damage; anything else does.
        if let Some(JournalDamage {
            line,
            what,
            torn: false,
        }) = &contents.damage
        {
            return Err(StoreFault::Damaged {
                what: format!("journal line {line}: {what}"),
            });
        }
        let store = contents.store.clone().ok_or(StoreFault::Damaged {
            what: "the journal is empty".to_owned(),
        })?;
        let mut state = MemoryState::new(store);
        for entry in &contents.entries {
            state
                .replay_operation(
                    &entry.operation,
                    &entry.body,
                    &entry.texts,
                    entry.prev,
                    entry.hash,
                )
                .map_err(|FactMismatch(what)| StoreFault::Damaged {
                    what: format!("operation {}: {what}", entry.operation.id),
                })?;
        }
        // Notes are session memory and pending overrides, no part of the history: losing them costs
        // a repeated hint, refusing to open would cost all work.
        let notes = std::fs::read(&self.layout.notes).ok();
        state.notes = notes
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        self.remember_head(&state);
        Ok((state, contents))
    }
}

/// Notes that the state in the journal was built from operations, as the other engines do when they
/// build one.
pub(crate) fn note_built_state(layout: &Layout, now: Timestamp) -> Result<(), StoreFault> {
    let settings = EngineSettings {
        mirror: false,
        ..EngineSettings::default()
    };
    let store = JsonStore::open(layout, &settings)?;
    let mut tx = store.begin_write()?;
    let last = tx.last_operation_id()?.to_string();
    tx.save_note(BUILT_NOTE, Some(&last), now)?;
    tx.commit()
}

/// Acquires the write lock of the JSON engine, held until the returned file is closed.
pub(crate) fn acquire_write_lock(layout: &Layout, patience: Duration) -> Result<File, StoreFault> {
    acquire_file_lock(&layout.lock, patience)
        .map_err(|error| io_fault("cannot lock", &layout.lock, error))?
        .ok_or(StoreFault::Locked { holder: None })
}

impl Store for JsonStore {
    fn begin_read(&self) -> Result<Box<dyn Snapshot + '_>, StoreFault> {
        Ok(Box::new(self.replay_journal()?.0))
    }

    fn begin_write(&self) -> Result<Box<dyn Transaction + '_>, StoreFault> {
        // Loaded after the lock is held: a state read before it could miss another writer's commit.
        let lock = acquire_write_lock(&self.layout, self.settings.patience)?;
        let (draft, contents) = self.replay_journal()?;
        // Truncated here and not when reading: only the holder of the write lock knows that the
        // torn line is not being written at this moment.
        if contents.damage.is_some() {
            let path = self.journal.path();
            self.journal
                .truncate_to(contents.good_size)
                .map_err(|error| io_fault("cannot truncate", path, error))?;
        }
        let size = contents.good_size;
        let notes_before = draft.notes.clone();
        let head_before = (draft.head(), draft.head_hash);
        let keep = Box::new(move |state: MemoryState, lines: Vec<String>| {
            // Moved into the closure, so that the lock is released after the commit or the drop.
            let _held_until_here = lock;
            if state.notes != notes_before {
                let notes = serde_json::to_vec(&state.notes).unwrap_or_default();
                replace_file(&self.layout.notes, &notes, Durability::Atomic)
                    .map_err(|error| io_fault("cannot write", &self.layout.notes, error))?;
            }
            if lines.is_empty() {
                return Ok(());
            }
            let path = self.journal.path();
            if let Err(error) = self.journal.append_lines(&lines) {
                // Nothing was acknowledged, so the partial line goes. If this fails too (disk
                // gone), the next writer finds a torn line and truncates it.
                let _ = self.journal.truncate_to(size);
                return Err(io_fault("cannot append to", path, error));
            }
            if let Some(heads) = &self.settings.heads {
                let head = (state.head(), state.head_hash);
                heads.advance_head(&state.store, head_before, head, &|number| {
                    state.chain_hash(number)
                });
            }
            if !self.settings.mirror {
                return Ok(());
            }
            let recent: Vec<_> = state
                .operations
                .iter()
                .rev()
                .take(lines.len())
                .map(|one| one.operation.clone())
                .collect();
            // Best effort: the operation is durable in the journal, and a mirror that is behind is
            // caught up with by the next commit.
            let _ =
                self.mirror
                    .catch_up_after_commit(&state, &recent, self.settings.mirror_schedule());
            self.remember_head(&state);
            Ok(())
        });
        Ok(Box::new(MemoryTransaction {
            draft,
            keep,
            lines: Vec::new(),
            warnings: &self.warnings,
        }))
    }

    fn verify_integrity(&self) -> Result<Vec<StoreFinding>, StoreFault> {
        let (state, contents) = self.replay_journal()?;
        let mut findings: Vec<StoreFinding> = contents
            .damage
            .iter()
            .map(|damage| StoreFinding {
                kind: StoreFindingKind::InterruptedOperation,
                message: format!("journal line {}: {}", damage.line, damage.what),
            })
            .collect();
        if !self.settings.mirror {
            return Ok(findings);
        }
        let mirror = self
            .mirror
            .verify_against(&state, self.settings.mirror_schedule(), &|each| {
                state.all_nodes()?.into_iter().for_each(each);
                Ok(())
            })
            .map_err(|error| io_fault("cannot read", &self.layout.mirror, error))?;
        findings.extend(mirror);
        Ok(findings)
    }

    fn finish_mirror(&self) {
        // The head of the last replay, because another one just for the comparison would double the
        // time of every reading command. What others committed since, they have mirrored.
        let last = self.last_head.borrow().clone();
        let Some(head) = last.filter(|_| self.settings.mirror) else {
            return;
        };
        let _ = self
            .mirror
            .write_backlog(&head, self.settings.mirror_schedule(), || self.load_state());
    }

    fn sync_mirror(&self) -> Result<usize, StoreFault> {
        if !self.settings.mirror {
            return Ok(0);
        }
        let (state, _) = self.replay_journal()?;
        self.mirror
            .sync_all(&state)
            .map_err(|error| io_fault("cannot write", &self.layout.mirror, error))
    }

    fn history_state(&self) -> HistoryState {
        self.history.get()
    }

    fn take_warnings(&self) -> Vec<String> {
        drain_warnings(&self.warnings)
    }
}
