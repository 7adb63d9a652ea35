//! Replay of a history for verification: the state it leads to, and what its operations touched.
//!
//! Facts are parsed and applied one at a time, and neither they nor texts and bodies are kept: the
//! first operation of a large project adds every node of it.

use domain::fact::Fact;
use domain::ids::{Digest32, OperationId, Principal, StoreId, VersionHash};
use domain::operation::{Channel, OperationHead, Verb};
use domain::time::Timestamp;
use domain::tree::FactMismatch;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::engine::ChainedOperation;
use crate::long_journal_line::LongOperation;
use crate::memory::MemoryState;
use crate::tables::touched_index::TouchedNodes;

/// The state that a history leads to.
pub(crate) struct ReplayedHistory {
    pub(crate) state: MemoryState,
    pub(crate) operations: Vec<ReplayedOperation>,
}

/// What is compared of a replayed operation. The hash stands for the body.
pub(crate) struct ReplayedOperation {
    pub(crate) head: OperationHead,
    pub(crate) touched: TouchedNodes,
    pub(crate) prev: Digest32,
    pub(crate) hash: Digest32,
}

/// Why an operation was not replayed.
pub(crate) enum ReplayFault {
    /// It is not an operation, or not the next one.
    Unreadable(String),
    /// A fact does not match the state.
    Mismatch { id: OperationId, what: String },
}

impl ReplayedHistory {
    /// Begins with the empty state of a store.
    pub(crate) fn of_store(store: StoreId) -> Self {
        Self {
            state: MemoryState::new(store),
            operations: Vec::new(),
        }
    }

    /// Replays the operations of a store; the error is what keeps it from being replayed.
    pub(crate) fn from_entries(
        store: StoreId,
        entries: &[ChainedOperation],
    ) -> Result<Self, String> {
        let mut replayed = Self::of_store(store);
        for entry in entries {
            let sizes = entry
                .texts
                .iter()
                .map(|(hash, text)| (*hash, text.len() as u64));
            let sizes: Vec<(VersionHash, u64)> = sizes.collect();
            let operation =
                UnparsedOperation::parse(&entry.body).map_err(|error| error.to_string())?;
            replayed
                .replay_operation(operation, &sizes, (entry.prev, entry.hash))
                .map_err(|fault| match fault {
                    ReplayFault::Unreadable(what) => what,
                    ReplayFault::Mismatch { id, what } => {
                        format!("operation {id} cannot be replayed: {what}")
                    }
                })?;
        }
        Ok(replayed)
    }

    /// Returns the id of the last replayed operation.
    pub(crate) fn last_operation_id(&self) -> OperationId {
        self.operations
            .last()
            .map(|operation| operation.head.id)
            .unwrap_or_default()
    }

    /// Replays an operation with the sizes of its texts. After a fault the state is half changed.
    pub(crate) fn replay_operation(
        &mut self,
        operation: UnparsedOperation<'_>,
        text_sizes: &[(VersionHash, u64)],
        (prev, hash): (Digest32, Digest32),
    ) -> Result<(), ReplayFault> {
        self.state.note_text_sizes(text_sizes);
        let (id, at) = (operation.head.id, operation.head.at);
        let (mut touched, mut mismatch) = (Vec::new(), None);
        operation
            .visit_facts(&mut |fact| {
                touched.extend(fact.changed_nodes());
                let replayed = self.state.replay_fact(id, at, &fact);
                mismatch = replayed.err().map(|FactMismatch(what)| what);
                mismatch.is_none()
            })
            .map_err(|error| ReplayFault::Unreadable(error.to_string()))?;
        if let Some(what) = mismatch {
            return Err(ReplayFault::Mismatch { id, what });
        }
        self.operations.push(ReplayedOperation {
            head: operation.head,
            touched: TouchedNodes::from_ids(touched),
            prev,
            hash,
        });
        Ok(())
    }
}

/// An operation whose facts are not parsed yet.
pub(crate) struct UnparsedOperation<'b> {
    head: OperationHead,
    facts: UnparsedFacts<'b>,
}

enum UnparsedFacts<'b> {
    Listed(Vec<&'b RawValue>),
    InFile(&'b LongOperation),
}

/// An operation with its facts as text.
#[derive(Deserialize)]
struct ListedOperation<'b> {
    id: OperationId,
    at: Timestamp,
    by: Principal,
    channel: Channel,
    verb: Verb,
    summary: String,
    #[serde(borrow)]
    facts: Vec<&'b RawValue>,
}

impl<'b> UnparsedOperation<'b> {
    /// Parses an operation that is in memory.
    pub(crate) fn parse(body: &'b str) -> Result<Self, serde_json::Error> {
        let operation: ListedOperation<'b> = serde_json::from_str(body)?;
        Ok(Self {
            head: OperationHead {
                id: operation.id,
                at: operation.at,
                by: operation.by,
                channel: operation.channel,
                verb: operation.verb,
                summary: operation.summary,
                facts: operation.facts.len(),
            },
            facts: UnparsedFacts::Listed(operation.facts),
        })
    }

    /// Reads the head of an operation that stays in its file.
    pub(crate) fn read_head_of(operation: &'b LongOperation) -> Result<Self, serde_json::Error> {
        Ok(Self {
            head: operation.read_head()?,
            facts: UnparsedFacts::InFile(operation),
        })
    }

    pub(crate) fn operation_id(&self) -> OperationId {
        self.head.id
    }

    /// Parses the facts and drops them.
    pub(crate) fn check_facts(&self) -> Result<(), serde_json::Error> {
        self.visit_facts(&mut |_| true)
    }

    /// Parses the facts one at a time, until `each` returns `false`.
    fn visit_facts(&self, each: &mut dyn FnMut(Fact) -> bool) -> Result<(), serde_json::Error> {
        match &self.facts {
            UnparsedFacts::InFile(operation) => operation.visit_facts(each),
            UnparsedFacts::Listed(facts) => {
                for fact in facts {
                    if !each(serde_json::from_str(fact.get())?) {
                        break;
                    }
                }
                Ok(())
            }
        }
    }
}
