//! What was done while the server did not answer: kept in one file, in order, until it was sent or put aside.
//!
//! The first line is a seal, by which a file that came with a repository is told from one of ours. The second says which operation of the server's history the replica had then, and after which one the others were
//! recorded; the others are lines of a journal. The file is replaced as a whole, so that a crash leaves the old or the new.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use domain::fact::Fact;
use domain::ids::{Digest32, OperationId};
use domain::node::Standing;
use domain::operation::Verb;
use domain::ports::{NewOperation, StoreFault};
use domain::secrets::mask_operation;
use domain::time::Timestamp;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::durable::{Durability, replace};
use crate::engine::{Recorded, io_fault};
use crate::journal;
use crate::memory::MemoryState;

/// A place in the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    pub(super) operation: OperationId,
    pub(super) hash: Digest32,
}

impl Place {
    /// Returns the place an operation has.
    pub(super) fn of(recorded: &Recorded) -> Self {
        Self {
            operation: recorded.operation.id,
            hash: recorded.hash,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Header {
    /// How far the replica is the server's.
    base: Place,
    /// What the operations below follow.
    after: Place,
}

/// The operations that wait.
pub(super) struct Pending {
    pub(super) base: Place,
    pub(super) after: Place,
    pub(super) waiting: Vec<Recorded>,
}

impl Pending {
    /// Returns the place of the last one.
    pub(super) fn end(&self) -> Place {
        self.waiting.last().map_or(self.after, Place::of)
    }
}

/// Where they wait.
pub(super) struct Queue {
    file: PathBuf,
    lock: PathBuf,
    conflicts: PathBuf,
    patience: Duration,
    /// Nobody else can have written a file that fits this: it is sent in the name of whoever holds the token.
    seal: Digest32,
}

impl Queue {
    pub(super) fn beside(database: &Path, patience: Duration, seal: Digest32) -> Self {
        Self {
            seal,
            file: database.with_file_name("pending.jsonl"),
            lock: database.with_file_name("pending.lock"),
            conflicts: database.with_file_name("conflicts"),
            patience,
        }
    }

    /// Says whether anything waits, without reading it.
    pub(super) fn is_empty(&self) -> bool {
        !self.file.exists()
    }

    /// Takes the right to change what waits; it ends with what is returned.
    pub(super) fn hold(&self) -> Result<File, StoreFault> {
        let file = crate::private::open_options()
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

    /// Reads what waits. What somebody else wrote, or was written with another token, is put aside.
    pub(super) fn read(&self) -> Result<Option<Pending>, StoreFault> {
        let text = match fs::read_to_string(&self.file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_fault("cannot read", &self.file, error)),
        };
        let unreadable = |what: String| StoreFault::Io {
            action: format!(
                "cannot read what waits to be sent, `{}`",
                self.file.display()
            ),
            source: what.into(),
        };
        let (seal, text) = text.split_once('\n').unwrap_or_default();
        if seal != self.sealed(text).to_string() {
            let aside = crate::durable::put_aside(&self.file, &self.conflicts);
            aside.map_err(|error| io_fault("cannot put aside", &self.file, error))?;
            return Ok(None);
        }
        let mut lines = text.lines();
        let header: Header = serde_json::from_str(lines.next().unwrap_or_default())
            .map_err(|error| unreadable(error.to_string()))?;
        let (mut prev, mut waiting) = (header.after.hash, Vec::new());
        for line in lines {
            let one = Recorded::from(journal::read_line(line, prev).map_err(unreadable)?);
            prev = one.hash;
            waiting.push(one);
        }
        Ok(Some(Pending {
            base: header.base,
            after: header.after,
            waiting,
        }))
    }

    /// Keeps what waits, durably; nothing when there is nothing.
    pub(super) fn write(&self, pending: &Pending) -> Result<(), StoreFault> {
        let cannot = |error| io_fault("cannot write", &self.file, error);
        if pending.waiting.is_empty() && pending.base == pending.after {
            return self.clear();
        }
        let header = Header {
            base: pending.base,
            after: pending.after,
        };
        let mut text = serde_json::to_string(&header)
            .map_err(std::io::Error::other)
            .map_err(cannot)?;
        text.push('\n');
        for one in &pending.waiting {
            text.push_str(&one.line()?);
        }
        let sealed = format!("{}\n{text}", self.sealed(&text));
        replace(&self.file, sealed.as_bytes(), Durability::Synced).map_err(cannot)
    }

    fn sealed(&self, text: &str) -> Digest32 {
        Digest32::of(&[&self.seal.0[..], text.as_bytes()].concat())
    }

    /// Forgets what waited: it is sent, or put aside.
    pub(super) fn clear(&self) -> Result<(), StoreFault> {
        match fs::remove_file(&self.file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(io_fault("cannot remove", &self.file, error))
            }
            _ => Ok(()),
        }
    }

    /// Puts an operation aside that cannot be kept any more, where a person can read it, and returns where.
    pub(super) fn put_aside(
        &self,
        one: &Recorded,
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
        // The same one is put aside once, however often it is tried.
        let name: String = one.hash.to_string().chars().take(12).collect();
        let path = self
            .conflicts
            .join(format!("{}-{name}.json", now.file_name_part()));
        let cannot = |error| io_fault("cannot write", &path, error);
        crate::private::create_directory(&self.conflicts).map_err(cannot)?;
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
        replace(&path, &text, Durability::Synced).map_err(cannot)?;
        Ok(path)
    }
}

/// Says whether an operation may wait: what is a matter between people or machines is decided with them, or not at all.
pub(super) fn may_wait(operation: &domain::operation::Operation) -> bool {
    let needed = domain::access::needed_for(operation);
    domain::access::Scope::Agent.covers(needed) && operation.verb != Verb::Claim
}

/// What became of operations that were recorded again.
pub(super) struct Rebased {
    pub(super) again: Vec<Recorded>,
    /// The first that does not fit any more and all after it, which may rest on it; and why.
    pub(super) misfits: Vec<(Recorded, String)>,
}

/// Records operations again at the end of another state, in order, as long as all their facts fit.
pub(super) fn record_again(
    state: &mut MemoryState,
    waiting: Vec<Recorded>,
    now: Timestamp,
) -> Result<Rebased, StoreFault> {
    let mut numbers: HashMap<OperationId, OperationId> = HashMap::new();
    let mut rebased = Rebased {
        again: Vec::new(),
        misfits: Vec::new(),
    };
    let mut broken = None;
    for one in waiting {
        if let Some(first) = broken {
            rebased.misfits.push((
                one,
                format!("operation {first}, which it may rest on, does not fit any more"),
            ));
            continue;
        }
        let (old, id) = (one.operation.id, state.head().next());
        numbers.insert(old, id);
        let operation = one.operation.clone();
        let mut new = NewOperation {
            at: now,
            by: operation.by,
            channel: operation.channel,
            verb: operation.verb,
            summary: operation.summary,
            key: operation.key,
            facts: operation
                .facts
                .into_iter()
                .map(|fact| renumbered(fact, &numbers))
                .collect(),
            texts: one.texts.iter().map(|(_, text)| text.clone()).collect(),
        };
        // They may have waited since before secrets were masked.
        mask_operation(&mut new, state)?;
        let again = Recorded::new(id, state.head_hash, new)?;
        let mut draft = state.clone();
        match draft.apply(&again) {
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

/// A status names the operation that is its cause, and that has another number now.
fn renumbered(mut fact: Fact, numbers: &HashMap<OperationId, OperationId>) -> Fact {
    let renumber = |standing: &mut Standing| {
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
