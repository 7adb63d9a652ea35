//! The JSON engine: the journal is the source of truth, the mirror its readable form, no database.
//!
//! For file systems on which SQLite's WAL mode is not safe. Every command replays the whole
//! journal, so it slows down as the history grows; durability and atomicity are the same.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use domain::ids::StoreId;
use domain::ports::{
    History, Recovery, Snapshot, Store, StoreFault, StoreFinding, StoreFindingKind, Transaction,
};
use domain::tree::Misfit;
use rustix::fs::{FlockOperation, flock};

use crate::durable::{Durability, replace};
use crate::engine::{EngineSettings, io_fault};
use crate::journal::{Journal, JournalContents, JournalDamage};
use crate::layout::Layout;
use crate::memory::{MemoryState, MemoryTransaction, take_all};
use crate::mirror::Mirror;

/// A project's open state in JSON files.
pub(crate) struct JsonStore {
    layout: Layout,
    journal: Journal,
    mirror: Mirror,
    settings: EngineSettings,
    recoveries: RefCell<Vec<Recovery>>,
    /// Result of the rollback check against this user's known head.
    history: Cell<History>,
    warnings: Mutex<Vec<String>>,
}

impl JsonStore {
    /// Opens the state; fails when the journal is damaged.
    pub(crate) fn open(layout: &Layout, settings: &EngineSettings) -> Result<Self, StoreFault> {
        let store = Self {
            journal: Journal::at(&layout.journal),
            mirror: Mirror::new(&layout.mirror),
            layout: layout.clone(),
            settings: settings.clone(),
            recoveries: RefCell::new(Vec::new()),
            history: Cell::default(),
            warnings: Mutex::default(),
        };
        // Replayed once just to check: damage has to surface while the caller can still rebuild.
        store.load()?;
        Ok(store)
    }

    /// Passes the store id to `accept`, then compares the history with this user's known head.
    pub(crate) fn compare_history(
        &self,
        accept: &dyn Fn(&StoreId) -> Result<(), StoreFault>,
    ) -> Result<(), StoreFault> {
        let state = self.load()?.0;
        accept(&state.store)?;
        let Some(heads) = &self.settings.heads else {
            return Ok(());
        };
        let head = (state.head(), state.head_hash);
        self.history
            .set(heads.compare(&state.store, head, &|number| state.chain_hash(number))?);
        Ok(())
    }

    /// Replays the journal into a state.
    pub(crate) fn state(&self) -> Result<MemoryState, StoreFault> {
        Ok(self.load()?.0)
    }

    fn contents(&self) -> Result<JournalContents, StoreFault> {
        self.journal.read_all().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => StoreFault::Missing,
            _ => io_fault("cannot read", self.journal.path(), error),
        })
    }

    /// Replays the journal, ignoring a torn last line.
    fn load(&self) -> Result<(MemoryState, JournalContents), StoreFault> {
        let contents = self.contents()?;
        contents.check_format()?;
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
                .replay(
                    &entry.operation,
                    &entry.body,
                    &entry.texts,
                    entry.prev,
                    entry.hash,
                )
                .map_err(|Misfit(what)| StoreFault::Damaged {
                    what: format!("operation {}: {what}", entry.operation.id),
                })?;
        }
        // Notes are session memory and pending overrides, no part of the history: losing them costs
        // a repeated hint, refusing to open would cost all work.
        let notes = std::fs::read(&self.layout.notes).ok();
        state.notes = notes
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        Ok((state, contents))
    }
}

/// Acquires the write lock of the JSON engine, held until the returned file is closed.
pub(crate) fn write_lock(layout: &Layout, patience: Duration) -> Result<File, StoreFault> {
    let path = &layout.lock;
    let file = crate::private::open_options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(|error| io_fault("cannot write", path, error))?;
    // Polled, because a blocking `flock` knows no timeout and a signal would need a handler.
    let deadline = Instant::now() + patience;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(_) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(2)),
            Err(_) => return Err(StoreFault::Locked { holder: None }),
        }
    }
}

impl Store for JsonStore {
    fn read(&self) -> Result<Box<dyn Snapshot + '_>, StoreFault> {
        Ok(Box::new(self.load()?.0))
    }

    fn write(&self) -> Result<Box<dyn Transaction + '_>, StoreFault> {
        // Loaded after the lock is held: a state read before it could miss another writer's commit.
        let lock = write_lock(&self.layout, self.settings.patience)?;
        let (draft, contents) = self.load()?;
        // Truncated here and not when reading: only the holder of the write lock knows that the
        // torn line is not being written at this moment.
        if contents.damage.is_some() {
            let path = self.journal.path();
            self.journal
                .cut(contents.good_size)
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
                replace(&self.layout.notes, &notes, Durability::Atomic)
                    .map_err(|error| io_fault("cannot write", &self.layout.notes, error))?;
            }
            if lines.is_empty() {
                return Ok(());
            }
            let path = self.journal.path();
            if let Err(error) = self.journal.append(&lines) {
                // Nothing was acknowledged, so the partial line goes. If this fails too (disk
                // gone), the next writer finds a torn line and truncates it.
                let _ = self.journal.cut(size);
                return Err(io_fault("cannot append to", path, error));
            }
            if let Some(heads) = &self.settings.heads {
                let head = (state.head(), state.head_hash);
                heads.advance(&state.store, head_before, head, &|number| {
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
            let _ = self
                .mirror
                .catch_up(&state, &recent, self.settings.mirror_interval);
            Ok(())
        });
        Ok(Box::new(MemoryTransaction {
            draft,
            keep,
            lines: Vec::new(),
            warnings: &self.warnings,
        }))
    }

    fn verify(&self) -> Result<Vec<StoreFinding>, StoreFault> {
        let (state, contents) = self.load()?;
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
            .verify(&state)
            .map_err(|error| io_fault("cannot read", &self.layout.mirror, error))?;
        findings.extend(mirror);
        Ok(findings)
    }

    fn finish_mirror(&self) {
        if self.settings.mirror
            && let Ok((state, _)) = self.load()
        {
            let _ = self.mirror.finish(&state, self.settings.mirror_interval);
        }
    }

    fn sync_mirror(&self) -> Result<usize, StoreFault> {
        if !self.settings.mirror {
            return Ok(0);
        }
        let (state, _) = self.load()?;
        self.mirror
            .sync(&state)
            .map_err(|error| io_fault("cannot write", &self.layout.mirror, error))
    }

    fn take_recoveries(&self) -> Vec<Recovery> {
        self.recoveries.take()
    }

    fn history(&self) -> History {
        self.history.get()
    }

    fn take_warnings(&self) -> Vec<String> {
        take_all(&self.warnings)
    }
}
