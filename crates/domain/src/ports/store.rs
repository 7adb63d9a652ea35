//! The store: write transactions, mirror and integrity checks.
//!
//! It is the source of truth for everything except the plan texts, which are in the plan files.
//! Engines differ (SQLite, PostgreSQL, memory, a remote replica); the contract does not. A
//! [`Transaction`] is serialisable: no other writer commits between its reads and its commit.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::fact::Fact;
use crate::ids::{NodeId, OperationId, Principal, StoreId, VersionHash};
use crate::operation::{Channel, Verb};
use crate::ports::{FileStamp, OfflineConflicts, Snapshot, TokenStore};
use crate::time::Timestamp;

/// Polling interval for engines without change notifications.
const CHANGE_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Errors of the store.
// One enum for every engine: use cases map it to exit codes and next steps in one place, whichever
// engine a project uses.
#[derive(Debug, thiserror::Error)]
pub enum StoreFault {
    #[error("there is no state here")]
    Missing,
    #[error("the state is damaged: {what}")]
    Damaged { what: String },
    #[error("the state is in use by another process{}", holder.map(|pid| format!(" (pid {pid})")).unwrap_or_default())]
    Locked { holder: Option<u32> },
    #[error(
        "the state was written by a newer version (format {found}, this program knows {known})"
    )]
    Newer { found: i64, known: i64 },
    #[error("the state came from elsewhere (store {store}) and was not adopted by this user")]
    Foreign { store: StoreId },
    /// The shared database has another project with this name.
    #[error("the database {at} has another project called `{name}`")]
    AnotherProject { name: String, at: String },
    #[error("`{}` is not a Throughline database", path.display())]
    AnotherProgram { path: PathBuf },
    #[error("cannot write `{}`: it is read-only", path.display())]
    ReadOnly { path: PathBuf },
    #[error("cannot write `{}`: the disk is full", path.display())]
    Full { path: PathBuf },
    #[error("the state was moved elsewhere")]
    Moved,
    /// A remote database that does not answer, or refuses the connection.
    #[error("the database {at} cannot be reached: {why}")]
    Unreachable { at: String, why: String },
    /// A server that does not answer. Nothing was recorded, unless `may_be_kept`: the request may
    /// have arrived before the connection broke.
    #[error("the server {at} does not answer: {why}")]
    Silent {
        at: String,
        why: String,
        may_be_kept: bool,
    },
    /// A server that answered and rejected the request.
    #[error("the server {at} refused: {why}")]
    TurnedDown {
        at: String,
        why: String,
        next_steps: Vec<String>,
    },
    /// Write conflict: another writer committed first, nothing was changed. Retry on fresh state.
    #[error("write conflict: the state was changed by another writer in the meantime")]
    Conflict,
    /// An operation from another machine does not match the state.
    #[error("the operation does not fit the state: {what}")]
    DoesNotFit { what: String },
    #[error("{action}")]
    Io {
        action: String,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Key prefixes of notes shared by every working copy; all other notes belong to one working copy.
// `heard/` is the last sign of life of a session: whether a claim has lapsed must not depend on the
// machine that asks. `lease/` are the model leases: on a shared database they exclude every machine.
pub const SHARED_NOTE_PREFIXES: &[&str] = &["heard/", LEASE_NOTE_PREFIX];

/// Key prefix of the notes that keep model leases.
pub const LEASE_NOTE_PREFIX: &str = "lease/";

/// An operation to be recorded; the store assigns its id.
#[derive(Clone, Debug)]
pub struct NewOperation {
    pub at: Timestamp,
    pub by: Principal,
    pub channel: Channel,
    pub verb: Verb,
    pub summary: String,
    pub key: Option<String>,
    pub facts: Vec<Fact>,
    /// Texts the facts refer to that the store may not have yet.
    pub texts: Vec<String>,
}

/// A write transaction; it holds the write lock until it is committed or dropped.
pub trait Transaction: Snapshot {
    /// Returns the id the next recorded operation will get.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn next_operation_id(&self) -> Result<OperationId, StoreFault>;

    /// Returns the id for the next new node; ids are never reused.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn next_node_id(&self) -> Result<NodeId, StoreFault>;

    /// Applies an operation's facts. Later reads of this transaction see them.
    ///
    /// # Errors
    /// [`StoreFault`]; the transaction must then be dropped, and nothing is changed.
    fn record_operation(&mut self, operation: NewOperation) -> Result<OperationId, StoreFault>;

    /// Applies a journal line: an operation that already has its id and its place in the hash
    /// chain.
    ///
    /// # Errors
    /// [`StoreFault::DoesNotFit`] when it does not follow the last operation, or its facts do not
    /// match the state; the transaction must then be dropped, and nothing is changed.
    fn record_journal_line(&mut self, line: &str) -> Result<(), StoreFault>;

    /// Caches the stamps of files that were read. A lost one only costs a second read.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn save_file_stamps(
        &mut self,
        stamps: &[(NodeId, FileStamp, VersionHash)],
    ) -> Result<(), StoreFault>;

    /// Saves a note, or deletes it when `body` is `None`.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn save_note(&mut self, key: &str, body: Option<&str>, at: Timestamp)
    -> Result<(), StoreFault>;

    /// Deletes the notes with this key prefix that were last saved before `before`.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn delete_notes_before(&mut self, prefix: &str, before: Timestamp) -> Result<(), StoreFault>;

    /// Commits durably: when this returns, the changes survive a power failure.
    ///
    /// # Errors
    /// [`StoreFault`]; nothing is changed then.
    fn commit(self: Box<Self>) -> Result<(), StoreFault>;
}

/// One project's store.
pub trait Store: Send {
    /// Opens a read snapshot.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn begin_read(&self) -> Result<Box<dyn Snapshot + '_>, StoreFault>;

    /// Opens a snapshot of the local replica, without contacting the server.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn begin_read_cached(&self) -> Result<Box<dyn Snapshot + '_>, StoreFault> {
        self.begin_read()
    }

    /// Acquires the write lock, waiting for it, and opens a transaction.
    ///
    /// # Errors
    /// [`StoreFault::Locked`] on timeout.
    fn begin_write(&self) -> Result<Box<dyn Transaction + '_>, StoreFault>;

    /// Waits until the last operation is not `known`, with a timeout of `most`, and returns it.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn wait_for_change(
        &self,
        known: OperationId,
        most: Duration,
    ) -> Result<OperationId, StoreFault> {
        // Polls, because a file-based engine has no notifications. A monotonic clock, so that a
        // change of the system time neither ends nor extends the wait.
        let begun = Instant::now();
        loop {
            // A new snapshot each time; an open one would never see the change.
            let head = self.begin_read()?.last_operation_id()?;
            let left = most.saturating_sub(begun.elapsed());
            if head != known || left.is_zero() {
                return Ok(head);
            }
            std::thread::sleep(left.min(CHANGE_POLL_INTERVAL));
        }
    }

    /// Verifies checksums, hash chain, replay against the tables, texts and mirror.
    ///
    /// # Errors
    /// [`StoreFault`] when the check itself cannot run.
    fn verify_integrity(&self) -> Result<Vec<StoreFinding>, StoreFault>;

    /// Writes what earlier commits did not write to the mirror. Best effort: the mirror is a copy.
    fn finish_mirror(&self);

    /// Rewrites every mirror file that differs from the state and returns their number.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn sync_mirror(&self) -> Result<usize, StoreFault>;

    /// Returns the repairs made since the store was opened, and clears them.
    ///
    /// Only engines that repair while they run have any; those of opening are returned by it.
    fn take_recoveries(&self) -> Vec<Recovery> {
        Vec::new()
    }

    /// Whether several working copies share this state: then what one of them has in its files is
    /// not recorded by looking, only when it is submitted.
    fn is_shared(&self) -> bool {
        false
    }

    /// Returns the token store, if the engine has one.
    fn token_store(&self) -> Option<Box<dyn TokenStore + '_>> {
        None
    }

    /// Returns the conflicts of operations recorded offline, if the engine can record any.
    fn offline_conflicts(&self) -> Option<&dyn OfflineConflicts> {
        None
    }

    /// Returns warnings for the user, such as that the data is stale, and clears them.
    fn take_warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns how the history compares with what this user saw last, as found on opening.
    fn history_state(&self) -> HistoryState {
        HistoryState::Known
    }

    /// Returns our principal on the remote server; `None` if there is no server.
    fn remote_principal(&self) -> Option<Principal> {
        None
    }
}

/// Rollback detection: a store's history compared with the last operation this user saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HistoryState {
    /// It contains the last operation seen.
    #[default]
    Known,
    /// This store was not seen at this place before.
    FirstSeen,
    /// It ends before the last operation seen: an older state was restored.
    Missing {
        known: OperationId,
        found: OperationId,
    },
    /// The last operation seen has another hash now.
    Rewritten {
        known: OperationId,
        found: OperationId,
    },
}

impl HistoryState {
    /// Returns the problem as a message; `None` if there is none.
    #[must_use]
    pub fn describe_problem(self) -> Option<String> {
        // `the last operation`, `the last 3 operations`.
        let counted = |number: u64| match number {
            1 => "operation".to_owned(),
            number => format!("{number} operations"),
        };
        match self {
            Self::Known | Self::FirstSeen => None,
            // The consequence is named, not only the numbers: what is gone may be a decision that
            // the user relies on.
            Self::Missing { known, found } => Some(format!(
                "the history was rolled back: this user saw operation {known}, but it ends with operation {found} now; the \
                 last {} of it, and what they approved, condemned or decided, are gone",
                counted(known.0 - found.0)
            )),
            Self::Rewritten { known, .. } => Some(format!(
                "the history was rewritten: operation {known} is not the one this user saw, so any operation up to it may have \
                 been changed, with its author"
            )),
        }
    }

    /// Next steps: first inspect, then accept.
    pub const NEXT_STEPS: [&'static str; 2] = [
        "tl log   # compare it with what you know; .throughline/damaged, a backup or git may have what is gone",
        "tl check --accept-history   # in your own terminal, if you replaced the state yourself",
    ];
}

/// An automatic repair the user should be told about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    pub message: String,
}

/// A problem found by [`Store::verify_integrity`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreFinding {
    pub kind: StoreFindingKind,
    pub message: String,
}

/// The kinds of [`StoreFinding`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreFindingKind {
    DatabaseDamaged,
    JournalDamaged,
    InterruptedOperation,
    TextMissing,
    MirrorLag,
    MirrorDamaged,
}

impl StoreFindingKind {
    /// Whether data is damaged, not merely behind.
    #[must_use]
    pub fn is_damage(self) -> bool {
        // The mirror is a copy that is rewritten from the state, so even a damaged one loses
        // nothing.
        match self {
            Self::DatabaseDamaged | Self::JournalDamaged | Self::TextMissing => true,
            Self::InterruptedOperation | Self::MirrorLag | Self::MirrorDamaged => false,
        }
    }

    /// Returns the name used in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DatabaseDamaged => "database-damaged",
            Self::JournalDamaged => "journal-damaged",
            Self::InterruptedOperation => "interrupted-operation",
            Self::TextMissing => "text-missing",
            Self::MirrorLag => "mirror-lag",
            Self::MirrorDamaged => "mirror-damaged",
        }
    }
}
