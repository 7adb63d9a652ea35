//! The store: the one authority for everything but the plans' texts.
//!
//! Engines differ (SQLite, JSON files, PostgreSQL); the contract does not. A [`Transaction`]
//! sees and changes one state alone: no other writer comes between its reads and its commit.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fact::{Backup, Fact};
use crate::ids::{Digest32, NodeId, OperationId, Principal, StoreId, VersionHash};
use crate::node::Node;
use crate::operation::{Channel, Operation, OperationHead, Verb};
use crate::ports::{AccessBook, FileStamp};
use crate::record::RecordKey;
use crate::search::{Matching, Query};
use crate::status::Footing;
use crate::time::Timestamp;
use crate::version::Version;

/// How often a store that cannot tell is asked for its last operation.
const LOOK: Duration = Duration::from_millis(200);

/// Why the store could not do what was asked.
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
    /// The shared database has a project of this name, and it is not this one.
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
    /// A database elsewhere that does not answer, or does not let us in.
    #[error("the database {at} cannot be reached: {why}")]
    Unreachable { at: String, why: String },
    /// A server elsewhere that does not answer. Nothing was recorded, unless it may have heard us before it fell silent.
    #[error("the server {at} does not answer: {why}")]
    Silent {
        at: String,
        why: String,
        may_be_kept: bool,
    },
    /// A server elsewhere that answered, and will not have it.
    #[error("the server {at} refused: {why}")]
    TurnedDown {
        at: String,
        why: String,
        next_steps: Vec<String>,
    },
    /// Somebody else was faster; nothing happened. The same can be tried again on what is there now.
    #[error("somebody else changed the state meanwhile")]
    Overtaken,
    /// An operation made elsewhere does not fit the state.
    #[error("the operation does not fit the state: {what}")]
    DoesNotFit { what: String },
    #[error("{action}")]
    Io {
        action: String,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Notes under these beginnings are about the project, wherever its plans lie; all others are about one working copy.
pub const SHARED_NOTES: &[&str] = &["heard/"];

/// An operation about to be recorded. Its number is given by the store.
#[derive(Clone, Debug)]
pub struct NewOperation {
    pub at: Timestamp,
    pub by: Principal,
    pub channel: Channel,
    pub verb: Verb,
    pub summary: String,
    pub key: Option<String>,
    pub facts: Vec<Fact>,
    /// Texts the facts speak of that the store may not have yet.
    pub texts: Vec<String>,
}

/// A child's name and place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChildName {
    pub level: String,
    pub order: i64,
    pub alias: String,
    pub id: NodeId,
}

/// A consistent view of the state.
///
/// Every read of a row checks its sum: a damaged row is [`StoreFault::Damaged`], never an answer.
pub trait Snapshot {
    /// Returns the store's identity.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn store_id(&self) -> Result<StoreId, StoreFault>;

    /// Returns the last operation's number.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn head(&self) -> Result<OperationId, StoreFault>;

    /// Returns a node.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn node(&self, id: NodeId) -> Result<Option<Node>, StoreFault>;

    /// Returns every node with this alias.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn nodes_by_alias(&self, alias: &str) -> Result<Vec<Node>, StoreFault>;

    /// Returns the children of this node with this alias.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn children_by_alias(&self, parent: NodeId, alias: &str) -> Result<Vec<Node>, StoreFault>;

    /// Returns a node's children, in no particular order.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn children(&self, parent: NodeId) -> Result<Vec<Node>, StoreFault>;

    /// Returns just the names of a node's children, for a quick look.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn child_names(&self, parent: NodeId) -> Result<Vec<ChildName>, StoreFault>;

    /// Returns every node; parents come before their children.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn all_nodes(&self) -> Result<Vec<Node>, StoreFault>;

    /// Returns every node but those of these profiles; parents come before their children. What is left out costs nothing.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn nodes_outside(&self, profiles: &[&str]) -> Result<Vec<Node>, StoreFault>;

    /// Returns a node and all below it; parents come before their children.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn subtree(&self, top: NodeId) -> Result<Vec<Node>, StoreFault>;

    /// Returns what the statuses of a node and all below it rest on; parents come before children.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn footings(&self, top: NodeId) -> Result<Vec<Footing>, StoreFault>;

    /// Returns a node's versions, newest first.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn versions(&self, node: NodeId) -> Result<Vec<Version>, StoreFault>;

    /// Returns one version of a node.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn version(&self, node: NodeId, hash: VersionHash) -> Result<Option<Version>, StoreFault>;

    /// Returns a kept text, checked against its hash.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn text(&self, hash: VersionHash) -> Result<Option<String>, StoreFault>;

    /// Returns a node's readable backups, newest first.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn backups(&self, node: NodeId) -> Result<Vec<Backup>, StoreFault>;

    /// Returns up to `most` operations before `before` (all when `None`), newest first.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn operations(
        &self,
        before: Option<OperationId>,
        most: usize,
    ) -> Result<Vec<Operation>, StoreFault>;

    /// The same without the facts, for who only lists them.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn operation_heads(
        &self,
        before: Option<OperationId>,
        most: usize,
    ) -> Result<Vec<OperationHead>, StoreFault>;

    /// Returns one of them.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn operation_head(&self, id: OperationId) -> Result<Option<OperationHead>, StoreFault> {
        Ok(self
            .operation_heads(Some(id.next()), 1)?
            .pop()
            .filter(|head| head.id == id))
    }

    /// The same for the operations that changed one node.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn operation_heads_of(
        &self,
        node: NodeId,
        before: Option<OperationId>,
        most: usize,
    ) -> Result<Vec<OperationHead>, StoreFault> {
        let (mut found, mut before) = (Vec::new(), before);
        // Engines that know which operations touched a node need not go through all of them.
        while found.len() < most {
            let page = self.operations(before, 200)?;
            let Some(last) = page.last() else { break };
            before = Some(last.id);
            let touching = page
                .iter()
                .filter(|operation| operation.touched().contains(&node));
            found.extend(touching.take(most - found.len()).map(Operation::head));
        }
        Ok(found)
    }

    /// Returns one operation.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn operation(&self, id: OperationId) -> Result<Option<Operation>, StoreFault>;

    /// Returns by which operation another one was undone.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn undone_by(&self, id: OperationId) -> Result<Option<OperationId>, StoreFault>;

    /// Returns the hash of an operation in the chain of all of them; that of 0 is the chain's beginning. `None` when there
    /// is no such operation.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn chain_hash(&self, id: OperationId) -> Result<Option<Digest32>, StoreFault>;

    /// Returns the operations after `after` as lines of a journal, oldest first. They end after the one with which they have
    /// `most` bytes or more.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn lines(&self, after: OperationId, most: usize) -> Result<Vec<String>, StoreFault>;

    /// Returns the stamp under which a node's file was last read, with the version it had then.
    ///
    /// A cache of this machine, not part of the state: it may be empty.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn stamp(&self, node: NodeId) -> Result<Option<(FileStamp, VersionHash)>, StoreFault>;

    /// Returns every stamp.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn stamps(&self) -> Result<Vec<(NodeId, FileStamp, VersionHash)>, StoreFault>;

    /// Returns a record's body.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn record_body(&self, kind: &str, key: &str) -> Result<Option<Value>, StoreFault>;

    /// Returns the records of a kind whose key starts with `prefix`, by key.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn records(&self, kind: &str, prefix: &str) -> Result<Vec<(String, Value)>, StoreFault>;

    /// Returns the keys of the records of these kinds that match a query best, the best first, at most `most`.
    ///
    /// Kinds that are not in [`crate::search::SEARCHED_KINDS`] are not found. What a record is found by, what its words
    /// are and how matches are ranked says [`crate::search`]; equal ones come by kind and key. Every engine gives the same
    /// answer.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn search(
        &self,
        kinds: &[&str],
        query: &Query,
        matching: Matching,
        most: usize,
    ) -> Result<Vec<RecordKey>, StoreFault>;

    /// Returns a note kept under a key: what a session has read, a gate that was overridden.
    ///
    /// Notes are not part of the state: no operation records them, and a lost one costs a question.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn note(&self, key: &str) -> Result<Option<String>, StoreFault>;

    /// Returns the secret name of this working copy; empty where the state belongs to one alone.
    fn working_copy(&self) -> String {
        String::new()
    }

    /// Returns the time of the store's own clock, for what several machines must agree on; `None` where there is only this
    /// machine's.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn now(&self) -> Result<Option<Timestamp>, StoreFault> {
        Ok(None)
    }
}

/// The state, held for writing.
pub trait Transaction: Snapshot {
    /// Returns the number the next recorded operation will get.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn next_operation(&self) -> Result<OperationId, StoreFault>;

    /// Returns the number the next new node is to have; the store keeps count from the facts.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn next_node(&self) -> Result<NodeId, StoreFault>;

    /// Applies an operation's facts. Later reads of this transaction see them.
    ///
    /// # Errors
    /// [`StoreFault`]; the transaction must then be dropped, and nothing happened.
    fn record(&mut self, operation: NewOperation) -> Result<OperationId, StoreFault>;

    /// Applies an operation that has its number and its place in the chain already, given as a line of a journal.
    ///
    /// # Errors
    /// [`StoreFault::DoesNotFit`] when it does not follow the last one, or its facts do not fit; the transaction must then be
    /// dropped, and nothing happened.
    fn record_line(&mut self, line: &str) -> Result<(), StoreFault>;

    /// Keeps stamps of files that were read. Lost ones only cost a second reading.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn keep_stamps(
        &mut self,
        stamps: &[(NodeId, FileStamp, VersionHash)],
    ) -> Result<(), StoreFault>;

    /// Keeps a note, or with `None` forgets it.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn keep_note(&mut self, key: &str, body: Option<&str>, at: Timestamp)
    -> Result<(), StoreFault>;

    /// Forgets the notes under keys with this prefix that were last kept before `before`.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn forget_notes(&mut self, prefix: &str, before: Timestamp) -> Result<(), StoreFault>;

    /// Makes all of it durable: when this returns, a power cut cannot take it back.
    ///
    /// # Errors
    /// [`StoreFault`]; nothing happened then.
    fn commit(self: Box<Self>) -> Result<(), StoreFault>;
}

/// One project's store.
pub trait Store: Send {
    /// Opens a view for reading.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn read(&self) -> Result<Box<dyn Snapshot + '_>, StoreFault>;

    /// Opens a view of what is known here, without asking a server that the state is on.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn read_known(&self) -> Result<Box<dyn Snapshot + '_>, StoreFault> {
        self.read()
    }

    /// Waits for the right to write and takes it.
    ///
    /// # Errors
    /// [`StoreFault::Locked`] when others do not finish in time.
    fn write(&self) -> Result<Box<dyn Transaction + '_>, StoreFault>;

    /// Waits until the last operation is another one than `known`, `most` at the longest, and returns which it is.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn await_change(&self, known: OperationId, most: Duration) -> Result<OperationId, StoreFault> {
        let begun = Instant::now();
        loop {
            let head = self.read()?.head()?;
            let left = most.saturating_sub(begun.elapsed());
            if head != known || left.is_zero() {
                return Ok(head);
            }
            std::thread::sleep(left.min(LOOK));
        }
    }

    /// Looks at everything: sums, chain, replay against the tables, texts, mirror.
    ///
    /// # Errors
    /// [`StoreFault`] when it cannot even look.
    fn verify(&self) -> Result<Vec<StoreFinding>, StoreFault>;

    /// Writes what earlier commits left out of the mirror. A copy: a failure is no one's concern now.
    fn finish_mirror(&self);

    /// Makes the whole mirror right, whatever was done to it, and returns how many files were wrong.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn sync_mirror(&self) -> Result<usize, StoreFault>;

    /// Returns what was repaired when the store was opened, once.
    fn take_recoveries(&self) -> Vec<Recovery>;

    /// Returns the book of tokens, where the engine keeps one.
    fn access(&self) -> Option<Box<dyn AccessBook + '_>> {
        None
    }

    /// Returns what whoever uses the store should know, once: that it shows what was known a while ago, for one.
    fn take_warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns what became of the history this user knew, as found when the store was opened.
    fn history(&self) -> History {
        History::Known
    }

    /// Returns whom a server elsewhere takes us for; `None` where there is no server.
    fn caller(&self) -> Option<Principal> {
        None
    }
}

/// A store's history, compared with the last operation this user saw of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum History {
    /// It contains all that was seen.
    #[default]
    Known,
    /// Nothing was seen of this store at this place before.
    FirstSeen,
    /// It ends before the last operation that was seen: an older state was put in its place.
    Missing {
        known: OperationId,
        found: OperationId,
    },
    /// The last operation that was seen is another one now.
    Rewritten {
        known: OperationId,
        found: OperationId,
    },
}

impl History {
    /// Returns what is wrong with it, for people; `None` when nothing is.
    #[must_use]
    pub fn problem(self) -> Option<String> {
        let counted = |number: u64| match number {
            1 => "operation".to_owned(),
            number => format!("{number} operations"),
        };
        match self {
            Self::Known | Self::FirstSeen => None,
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

    /// Commands that help, the first to look, the second to accept.
    pub const NEXT_STEPS: [&'static str; 2] = [
        "tl log   # compare it with what you know; .throughline/damaged, a backup or git may have what is gone",
        "tl check --accept-history   # in your own terminal, if you replaced the state yourself",
    ];
}

/// Something the store repaired by itself, to be told to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    pub message: String,
}

/// What [`Store::verify`] found.
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
    /// Says whether something is damaged, not merely behind.
    #[must_use]
    pub fn is_damage(self) -> bool {
        match self {
            Self::DatabaseDamaged | Self::JournalDamaged | Self::TextMissing => true,
            Self::InterruptedOperation | Self::MirrorLag | Self::MirrorDamaged => false,
        }
    }

    /// Returns the word used in JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
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
