//! Operation: one atomic, journaled state change, with its author, channel and summary.
//!
//! The verb names are part of the journal format. How an operation is stored and chained by hashes
//! is the store's business.

use serde::{Deserialize, Serialize};

use crate::fact::Fact;
use crate::ids::{NodeId, OperationId, Principal};
use crate::named_enum::named_enum;
use crate::time::Timestamp;

/// The interface an operation came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    Cli,
    Hook,
    Mcp,
    Web,
    System,
}

named_enum! {
    /// The kind of operation: the use case that made it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum Verb {
        Init = "init",
        /// Changes of plan files were observed.
        Observe = "observe",
        /// Texts of a working copy became those of a shared state.
        Submit = "submit",
        Approve = "approve",
        Revalidate = "revalidate",
        Invalidate = "invalidate",
        /// Changes of a plan were requested.
        RequestChanges = "request-changes",
        /// A person was asked for an approval and declined to answer.
        Decline = "decline",
        Progress = "progress",
        Restore = "restore",
        /// A person said which former plan a file is.
        Move = "move",
        /// Plans got other ids or numbers.
        Renumber = "renumber",
        /// Plans were added, moved, split, merged or removed, with their files.
        Reshape = "reshape",
        Repair = "repair",
        Rebuild = "rebuild",
        Adopt = "adopt",
        Undo = "undo",
        /// A person let a step pass a gate.
        Override = "override",
        Backup = "backup",
        /// A session changed its focus.
        Focus = "focus",
        /// A session claimed or released a node.
        Claim = "claim",
        /// Evidence for a node was defined or run.
        Evidence = "evidence",
        /// A ticket was created or its work level judged.
        Ticket = "ticket",
        /// A git commit advanced the test cycle of a scenario.
        Commit = "commit",
        /// A session declared its intent.
        Intent = "intent",
        /// A session recorded its position on the trail.
        Map = "map",
        /// A conversation or a session was compacted.
        Compact = "compact",
        /// Finished branches and old notes were removed.
        Prune = "prune",
        /// A trail of an older format was imported.
        Migrate = "migrate",
        /// An anchor, a note or a rating was saved.
        Remember = "remember",
        /// A comment on a plan was added.
        Comment = "comment",
        /// A plan document was created, changed, frozen or revised.
        Document = "document",
        /// A workflow run moved to another step.
        Flow = "flow",
        Review = "review",
        /// The tick loop planned or executed a step of the story.
        Tick = "tick",
        /// A step of a scene's generation.
        Write = "write",
        /// The trust policy changed.
        Policy = "policy",
    }
}

impl Verb {
    /// Whether an operation of this kind moves plan files.
    #[must_use]
    pub fn moves_files(self) -> bool {
        matches!(self, Self::Renumber | Self::Reshape)
    }

    /// Whether a bare `undo` may pick an operation of this kind.
    ///
    /// Observations and rebuilds have to be named by their number: a user who types `undo` does not
    /// mean the paragraph they just wrote in their editor.
    #[must_use]
    pub fn is_decision(self) -> bool {
        // Exhaustive, so that a new verb has to take a side. Bookkeeping of sessions is excluded as
        // well: there is far more of it than of decisions, and it would hide the last one.
        match self {
            Self::Approve
            | Self::Revalidate
            | Self::Invalidate
            | Self::RequestChanges
            | Self::Progress
            | Self::Restore
            | Self::Move
            | Self::Renumber
            | Self::Reshape
            | Self::Repair => true,
            Self::Init
            | Self::Observe
            | Self::Submit
            | Self::Rebuild
            | Self::Adopt
            | Self::Undo
            | Self::Override
            | Self::Backup
            | Self::Focus
            | Self::Claim
            | Self::Evidence
            | Self::Ticket
            | Self::Commit
            | Self::Intent
            | Self::Map
            | Self::Compact
            | Self::Prune
            | Self::Migrate
            | Self::Remember
            | Self::Tick
            | Self::Write
            | Self::Policy
            | Self::Decline
            | Self::Comment => false,
            // Freezing, moving and judging are decisions, even though agents make them as well.
            Self::Document | Self::Flow | Self::Review => true,
        }
    }
}

/// One committed operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    pub id: OperationId,
    pub at: Timestamp,
    pub by: Principal,
    pub channel: Channel,
    pub verb: Verb,
    /// One line for the log: `approve chapter-02`.
    pub summary: String,
    /// Idempotency key: a second operation with the same key is not executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    pub facts: Vec<Fact>,
}

/// An operation without its facts, of which there may be ten thousand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationHead {
    pub id: OperationId,
    pub at: Timestamp,
    pub by: Principal,
    pub channel: Channel,
    pub verb: Verb,
    pub summary: String,
    /// Number of facts. Deserialised from a number, or from the list of facts.
    #[serde(deserialize_with = "counted")]
    pub facts: usize,
}

/// Deserialises a number, or counts the elements of a list without building them.
fn counted<'d, D: serde::Deserializer<'d>>(list: D) -> Result<usize, D::Error> {
    struct Counter;
    impl<'d> serde::de::Visitor<'d> for Counter {
        type Value = usize;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a list of facts, or their number")
        }

        fn visit_u64<E: serde::de::Error>(self, count: u64) -> Result<usize, E> {
            usize::try_from(count).map_err(E::custom)
        }

        fn visit_seq<A: serde::de::SeqAccess<'d>>(self, mut list: A) -> Result<usize, A::Error> {
            // `IgnoredAny` skips each fact without allocating: listing the log of a large project
            // took twice the memory while the facts were parsed.
            let mut count = 0;
            while list.next_element::<serde::de::IgnoredAny>()?.is_some() {
                count += 1;
            }
            Ok(count)
        }
    }
    // `deserialize_any`, because only the JSON itself tells which of the two forms it is.
    list.deserialize_any(Counter)
}

/// Calls `visit` with each fact of an operation's JSON, one after the other.
///
/// An operation that added ten thousand plans is 30 MB of facts; a reader that only counts needs one of
/// them at a time.
///
/// # Errors
/// When the JSON is not that of an operation. Facts before the error were visited.
pub fn visit_facts_of_json(
    json: &str,
    visit: &mut dyn FnMut(Fact),
) -> Result<(), serde_json::Error> {
    use serde::Deserializer as _;
    let mut deserializer = serde_json::Deserializer::from_str(json);
    deserializer.deserialize_map(OperationVisitor { visit })?;
    deserializer.end()
}

struct OperationVisitor<'v> {
    visit: &'v mut dyn FnMut(Fact),
}

impl<'d> serde::de::Visitor<'d> for OperationVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an operation")
    }

    fn visit_map<A: serde::de::MapAccess<'d>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<std::borrow::Cow<'d, str>>()? {
            if key == "facts" {
                map.next_value_seed(FactsVisitor {
                    visit: &mut *self.visit,
                })?;
            } else {
                map.next_value::<serde::de::IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

struct FactsVisitor<'v> {
    visit: &'v mut dyn FnMut(Fact),
}

impl<'d> serde::de::DeserializeSeed<'d> for FactsVisitor<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'d>>(self, list: D) -> Result<(), D::Error> {
        list.deserialize_seq(self)
    }
}

impl<'d> serde::de::Visitor<'d> for FactsVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of facts")
    }

    fn visit_seq<A: serde::de::SeqAccess<'d>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(fact) = list.next_element()? {
            (self.visit)(fact);
        }
        Ok(())
    }
}

impl Operation {
    /// Returns the ids of the nodes it changed, sorted and without duplicates.
    #[must_use]
    pub fn touched_nodes(&self) -> Vec<NodeId> {
        // One node is often in several facts: content, description, status.
        let mut nodes: Vec<NodeId> = self.facts.iter().flat_map(Fact::changed_nodes).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// Returns the operation without its facts.
    #[must_use]
    pub fn to_head(&self) -> OperationHead {
        OperationHead {
            id: self.id,
            at: self.at,
            by: self.by.clone(),
            channel: self.channel,
            verb: self.verb,
            summary: self.summary.clone(),
            facts: self.facts.len(),
        }
    }
}
