//! Offline queue: operations recorded while the server was unreachable, in one file, in order.
//!
//! The first line is a seal (keyed digest) that rejects a file that came with a repository. The
//! second names the last operation of the server that the replica had, and the one that the queue
//! follows. The others are journal lines. The file is replaced atomically. An operation leaves the
//! queue when it is sent or saved as a conflict; nothing is dropped.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::ids::{Digest32, OperationId};
use domain::operation::Verb;
use domain::ports::StoreFault;
use serde::{Deserialize, Serialize};

use crate::durable::{Durability, replace_file};
use crate::engine::{ChainedOperation, io_fault};
use crate::file_lock::acquire_file_lock;
use crate::journal;

/// A position in the history: operation and hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ChainPosition {
    pub(super) operation: OperationId,
    pub(super) hash: Digest32,
}

impl ChainPosition {
    /// Returns the position of an operation.
    pub(super) fn of_operation(recorded: &ChainedOperation) -> Self {
        Self {
            operation: recorded.operation.id,
            hash: recorded.hash,
        }
    }
}

/// Second line of the queue file.
#[derive(Serialize, Deserialize)]
struct QueueHeader {
    /// Last operation that the replica shares with the server.
    base: ChainPosition,
    /// Position that the queued operations follow.
    after: ChainPosition,
}

/// The queued operations.
pub(super) struct PendingOperations {
    pub(super) base: ChainPosition,
    pub(super) after: ChainPosition,
    pub(super) waiting: Vec<ChainedOperation>,
}

impl PendingOperations {
    /// Returns the position of the last operation.
    pub(super) fn end_position(&self) -> ChainPosition {
        self.waiting
            .last()
            .map_or(self.after, ChainPosition::of_operation)
    }
}

/// The queue's files, beside the replica.
pub(super) struct OfflineQueue {
    file: PathBuf,
    lock: PathBuf,
    pub(super) conflicts: PathBuf,
    patience: Duration,
    /// Key of the seal. The queue is sent under this user's token, so a forged file would act in
    /// their name.
    seal: Digest32,
}

impl OfflineQueue {
    /// Returns the queue beside a database.
    pub(super) fn beside_database(database: &Path, patience: Duration, seal: Digest32) -> Self {
        Self {
            seal,
            file: database.with_file_name("pending.jsonl"),
            lock: database.with_file_name("pending.lock"),
            conflicts: database.with_file_name("conflicts"),
            patience,
        }
    }

    /// Whether the queue is empty, by the absence of its file.
    pub(super) fn is_empty(&self) -> bool {
        !self.file.exists()
    }

    /// Acquires the queue's lock, held until the returned file is closed.
    pub(super) fn acquire_lock(&self) -> Result<File, StoreFault> {
        acquire_file_lock(&self.lock, self.patience)
            .map_err(|error| io_fault("cannot lock", &self.lock, error))?
            .ok_or(StoreFault::Locked { holder: None })
    }

    /// Reads the queue. A file with a wrong seal (foreign, or of another token) is quarantined.
    pub(super) fn read_pending(&self) -> Result<Option<PendingOperations>, StoreFault> {
        let text = match fs::read_to_string(&self.file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_fault("cannot read", &self.file, error)),
        };
        let unreadable = |what: String| StoreFault::Io {
            action: format!("cannot read the offline queue `{}`", self.file.display()),
            source: what.into(),
        };
        let (seal, text) = text.split_once('\n').unwrap_or_default();
        // Moved away instead of refused: a foreign file must not block the replica, and after a
        // change of the token the user can still read what was queued.
        if seal != self.compute_seal(text).to_string() {
            let aside = crate::durable::quarantine_file(&self.file, &self.conflicts);
            aside.map_err(|error| io_fault("cannot quarantine", &self.file, error))?;
            return Ok(None);
        }
        let mut lines = text.lines();
        let header: QueueHeader = serde_json::from_str(lines.next().unwrap_or_default())
            .map_err(|error| unreadable(error.to_string()))?;
        let (mut prev, mut waiting) = (header.after.hash, Vec::new());
        for line in lines {
            // The chain is verified again: the seal covers the file, not the program that wrote it.
            let one = journal::parse_journal_line(line, prev).map_err(unreadable)?;
            prev = one.hash;
            waiting.push(one);
        }
        Ok(Some(PendingOperations {
            base: header.base,
            after: header.after,
            waiting,
        }))
    }

    /// Writes the queue, synced; removes the file when nothing is queued.
    pub(super) fn write_pending(&self, pending: &PendingOperations) -> Result<(), StoreFault> {
        let cannot = |error| io_fault("cannot write", &self.file, error);
        // An empty queue with `after` beyond `base` still matters: the replica has to be rewritten
        // to the server's history from `base` on.
        if pending.waiting.is_empty() && pending.base == pending.after {
            return self.clear_pending();
        }
        let header = QueueHeader {
            base: pending.base,
            after: pending.after,
        };
        let mut text = serde_json::to_string(&header)
            .map_err(std::io::Error::other)
            .map_err(cannot)?;
        text.push('\n');
        for one in &pending.waiting {
            text.push_str(&one.to_journal_line()?);
        }
        let sealed = format!("{}\n{text}", self.compute_seal(&text));
        replace_file(&self.file, sealed.as_bytes(), Durability::Synced).map_err(cannot)
    }

    /// Returns the seal of a text: a digest over key and text.
    pub(super) fn compute_seal(&self, text: &str) -> Digest32 {
        Digest32::of_bytes(&[&self.seal.0[..], text.as_bytes()].concat())
    }

    /// Removes the queue after everything was sent or saved as a conflict.
    pub(super) fn clear_pending(&self) -> Result<(), StoreFault> {
        match fs::remove_file(&self.file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(io_fault("cannot remove", &self.file, error))
            }
            _ => Ok(()),
        }
    }
}

/// Whether an operation may be queued. Approvals and claims may not: they are agreements with
/// others, and the others have to see them at once.
pub(super) fn may_queue(operation: &domain::operation::Operation) -> bool {
    let needed = domain::authorization::required_scope(operation);
    domain::authorization::Scope::Agent.is_sufficient_for(needed) && operation.verb != Verb::Claim
}
