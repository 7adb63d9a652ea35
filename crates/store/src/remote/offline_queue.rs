//! Offline queue: operations recorded while the server was unreachable, in one file, in order.
//!
//! The first line is a seal (keyed digest) that rejects a file that came with a repository. The
//! second names the last operation of the server that the replica had, and the one that the queue
//! follows. The others are journal lines. The file is replaced atomically. An operation leaves the
//! queue when it is sent or saved as a conflict; nothing is dropped.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use domain::fact::Fact;
use domain::ids::{Digest32, OperationId};
use domain::node::NodeStatus;
use domain::operation::Verb;
use domain::ports::{NewOperation, StoreFault};
use domain::secrets::mask_operation;
use domain::time::Timestamp;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::durable::{Durability, replace_file};
use crate::engine::{ChainedOperation, io_fault};
use crate::journal;
use crate::memory::MemoryState;

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
    conflicts: PathBuf,
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
        let file = crate::private_files::private_open_options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&self.lock)
            .map_err(|error| io_fault("cannot write", &self.lock, error))?;
        let deadline = Instant::now() + self.patience;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(file),
                Err(_) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
                Err(_) => return Err(StoreFault::Locked { holder: None }),
            }
        }
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
            let one = ChainedOperation::from(
                journal::parse_journal_line(line, prev).map_err(unreadable)?,
            );
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
    fn compute_seal(&self, text: &str) -> Digest32 {
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

    /// Saves an operation that conflicts with the server as a readable file, and returns its path.
    pub(super) fn save_conflict(
        &self,
        one: &ChainedOperation,
        why: &str,
        now: Timestamp,
    ) -> Result<PathBuf, StoreFault> {
        #[derive(Serialize)]
        struct Conflict<'c> {
            why: &'c str,
            operation: &'c domain::operation::Operation,
            texts: Vec<&'c str>,
        }
        let texts = one.texts.iter().map(|(_, text)| text.as_str()).collect();
        let conflict = Conflict {
            why,
            operation: &one.operation,
            texts,
        };
        // Named by the operation's hash, so that retries save it once.
        let name: String = one.hash.to_string().chars().take(12).collect();
        let path = self
            .conflicts
            .join(format!("{}-{name}.json", now.format_for_file_name()));
        let cannot = |error| io_fault("cannot write", &path, error);
        crate::private_files::create_private_directory(&self.conflicts).map_err(cannot)?;
        let known = fs::read_dir(&self.conflicts)
            .map_err(cannot)?
            .flatten()
            .map(|entry| entry.path());
        if let Some(known) = known
            .into_iter()
            .find(|path| path.to_string_lossy().contains(&name))
        {
            return Ok(known);
        }
        let text = serde_json::to_vec_pretty(&conflict)
            .map_err(std::io::Error::other)
            .map_err(cannot)?;
        replace_file(&path, &text, Durability::Synced).map_err(cannot)?;
        Ok(path)
    }
}

/// Whether an operation may be queued. Approvals and claims may not: they are agreements with
/// others, and the others have to see them at once.
pub(super) fn may_queue(operation: &domain::operation::Operation) -> bool {
    let needed = domain::authorization::required_scope(operation);
    domain::authorization::Scope::Agent.is_sufficient_for(needed) && operation.verb != Verb::Claim
}

/// Outcome of a rebase.
pub(super) struct RebaseOutcome {
    pub(super) again: Vec<ChainedOperation>,
    /// The first conflicting operation and all after it, which may depend on it, with the reasons.
    pub(super) misfits: Vec<(ChainedOperation, String)>,
}

/// Rebases operations onto another state, in order, up to the first that conflicts.
pub(super) fn rebase_operations(
    state: &mut MemoryState,
    waiting: Vec<ChainedOperation>,
    now: Timestamp,
) -> Result<RebaseOutcome, StoreFault> {
    let mut numbers: HashMap<OperationId, OperationId> = HashMap::new();
    let mut rebased = RebaseOutcome {
        again: Vec::new(),
        misfits: Vec::new(),
    };
    let mut broken = None;
    for one in waiting {
        if let Some(first) = broken {
            rebased.misfits.push((
                one,
                format!("operation {first}, on which it may depend, conflicts"),
            ));
            continue;
        }
        let (old, id) = (one.operation.id, state.head().next_id());
        numbers.insert(old, id);
        let operation = one.operation.clone();
        let mut new = NewOperation {
            // The server refuses operations whose date is off by minutes.
            at: now,
            by: operation.by,
            channel: operation.channel,
            verb: operation.verb,
            summary: operation.summary,
            key: operation.key,
            facts: operation
                .facts
                .into_iter()
                .map(|fact| renumber_fact(fact, &numbers))
                .collect(),
            texts: one.texts.iter().map(|(_, text)| text.clone()).collect(),
        };
        // They may have been queued by a version that did not mask secrets.
        mask_operation(&mut new, state)?;
        let again = ChainedOperation::new(id, state.head_hash, new)?;
        // A copy, because an operation that fails half-way leaves the state half changed.
        let mut draft = state.clone();
        match draft.apply_operation(&again) {
            Ok(()) => {
                *state = draft;
                rebased.again.push(again);
            }
            Err(misfit) => {
                broken = Some(old);
                rebased.misfits.push((one, misfit.0));
            }
        }
    }
    Ok(rebased)
}

/// Renumbers the causes of statuses: a cause names an operation, which got a new id.
fn renumber_fact(mut fact: Fact, numbers: &HashMap<OperationId, OperationId>) -> Fact {
    let renumber = |standing: &mut NodeStatus| {
        if let Some(cause) = &mut standing.cause
            && let Some(number) = numbers.get(&cause.operation)
        {
            cause.operation = *number;
        }
    };
    match &mut fact {
        Fact::NodeAdded { node } | Fact::NodeRemoved { node } => renumber(&mut node.standing),
        Fact::StandingsChanged { groups } => groups.iter_mut().for_each(|group| {
            renumber(&mut group.before);
            renumber(&mut group.after);
        }),
        _ => {}
    }
    fact
}
