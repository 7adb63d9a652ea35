//! Operations: one atomic, recorded change of state, with who did it and why.

use serde::{Deserialize, Serialize};

use crate::fact::Fact;
use crate::ids::{NodeId, OperationId, Principal};
use crate::time::Timestamp;

/// Where an operation came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    Cli,
    Hook,
    Mcp,
    Web,
    System,
}

/// What kind of operation it is: the use case that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verb {
    Init,
    /// Throughline noticed what happened to plan files.
    Observe,
    Approve,
    Revalidate,
    Invalidate,
    Progress,
    Restore,
    Repair,
    Rebuild,
    Adopt,
    Undo,
    /// A person let a step pass a gate.
    Override,
    Backup,
    /// A session went somewhere else.
    Focus,
    /// A session took a node for itself, or gave it back.
    Claim,
    /// What proves a node, and how it went.
    Evidence,
    /// A ticket was made or judged.
    Ticket,
    /// A commit moved the cycle of a scenario.
    Commit,
    /// A session said what it is for.
    Intent,
    /// A session said where it is.
    Map,
    /// A conversation or a session was made short.
    Compact,
    /// Finished branches and old notes were taken out.
    Prune,
    /// A trail of an older form was taken over.
    Migrate,
    /// An anchor, a note or a rating was kept.
    Remember,
    /// Somebody said something about a plan.
    Comment,
    /// A plan document was made, changed, frozen or revised.
    Document,
    /// A workflow moved.
    Flow,
    Review,
    /// The loop planned a step of the story, or ran one.
    Tick,
    /// A scene is being written.
    Write,
    /// Whose word counts, and what is gated, became another.
    Policy,
}

impl Verb {
    /// Returns the word people see in the log.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Observe => "observe",
            Self::Approve => "approve",
            Self::Revalidate => "revalidate",
            Self::Invalidate => "invalidate",
            Self::Progress => "progress",
            Self::Restore => "restore",
            Self::Repair => "repair",
            Self::Rebuild => "rebuild",
            Self::Adopt => "adopt",
            Self::Undo => "undo",
            Self::Override => "override",
            Self::Backup => "backup",
            Self::Focus => "focus",
            Self::Claim => "claim",
            Self::Evidence => "evidence",
            Self::Ticket => "ticket",
            Self::Commit => "commit",
            Self::Intent => "intent",
            Self::Map => "map",
            Self::Compact => "compact",
            Self::Prune => "prune",
            Self::Migrate => "migrate",
            Self::Remember => "remember",
            Self::Comment => "comment",
            Self::Document => "document",
            Self::Flow => "flow",
            Self::Review => "review",
            Self::Tick => "tick",
            Self::Write => "write",
            Self::Policy => "policy",
        }
    }

    /// Says whether a bare `undo` may pick an operation of this kind.
    ///
    /// What was merely noticed or rebuilt is left alone unless it is named: nobody who types `undo`
    /// means the paragraph they wrote in their editor.
    #[must_use]
    pub fn is_a_decision(self) -> bool {
        match self {
            Self::Approve
            | Self::Revalidate
            | Self::Invalidate
            | Self::Progress
            | Self::Restore
            | Self::Repair => true,
            Self::Init
            | Self::Observe
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
            | Self::Comment => false,
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
    /// One line for people: `approve chapter-02`.
    pub summary: String,
    /// Set by callers that may ask twice: the same key is done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    pub facts: Vec<Fact>,
}

/// What is said about an operation without going through its facts, of which there may be ten thousand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationHead {
    pub id: OperationId,
    pub at: Timestamp,
    pub by: Principal,
    pub channel: Channel,
    pub verb: Verb,
    pub summary: String,
    /// How many facts it has. Read from their number, or from the facts themselves.
    #[serde(deserialize_with = "counted")]
    pub facts: usize,
}

/// Reads a number, or counts a list without keeping it.
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
            let mut count = 0;
            while list.next_element::<serde::de::IgnoredAny>()?.is_some() {
                count += 1;
            }
            Ok(count)
        }
    }
    list.deserialize_any(Counter)
}

impl Operation {
    /// Returns the nodes it changed, each once, by number.
    #[must_use]
    pub fn touched(&self) -> Vec<NodeId> {
        let mut nodes: Vec<NodeId> = self.facts.iter().flat_map(Fact::nodes).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// Returns it without its facts.
    #[must_use]
    pub fn head(&self) -> OperationHead {
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
