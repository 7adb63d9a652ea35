//! What is remembered of one host session between its hooks.
//!
//! Notes, not state: losing them costs a question, never a plan.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::host_event::Host;
use crate::ids::{Digest32, NodeId, VersionHash};
use crate::ports::ChangedLines;

/// The memory of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionMemory {
    /// Whether its start was seen.
    pub started: bool,
    /// Which version of a plan it last read or wrote.
    pub read: BTreeMap<NodeId, VersionHash>,
    /// Which version of a parent's plan it was handed.
    pub given: BTreeMap<NodeId, VersionHash>,
    /// The conversation was compacted, and nobody has told the model where it stands since.
    pub owed_a_briefing: bool,
    /// It was told so in this turn already: some hosts do not show us again what we said.
    pub briefed_this_turn: bool,
    /// What was noticed when nobody could be told, for the next prompt.
    pub untold: Vec<String>,
    /// Which warnings it was told about a plan: the version and the words.
    pub warned: BTreeMap<NodeId, Digest32>,
    /// The last typed command that was acted on, with what was answered: some hosts tell of one twice.
    pub answered: Option<Digest32>,
    /// What it was told last: never the same twice in a row.
    pub told: Option<Digest32>,
}

/// What is remembered of the work in a session, whichever host or command it is asked from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkMemory {
    /// Where HEAD was when it was last looked at.
    pub head: Option<String>,
    /// What was not committed then, file by file; `None` when something may have changed that nobody counted.
    pub uncommitted: Option<Vec<ChangedLines>>,
    /// Which phase's guide it was given, by ticket.
    pub guided: BTreeMap<NodeId, String>,
    /// A phase that began and waits for a commit.
    pub pending: Option<PendingPhase>,
    /// What it was told when it wanted to stop, once a turn.
    pub followed_up: Option<Digest32>,
}

impl WorkMemory {
    /// Returns under which key it is kept.
    #[must_use]
    pub fn key(session: &str) -> String {
        format!("{PREFIX}work/{session}")
    }
}

/// A phase that began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingPhase {
    pub ticket: NodeId,
    pub to: String,
    /// Where HEAD was then.
    pub head: Option<String>,
}

impl SessionMemory {
    /// Returns under which key it is kept.
    #[must_use]
    pub fn key(host: Host, session: &str) -> String {
        format!("{PREFIX}{}/{session}", host.word())
    }

    /// The conversation begins anew: what the model was shown, it does not have any more.
    pub fn forget_what_was_shown(&mut self) {
        self.given.clear();
        self.told = None;
    }

    /// Says whether a text is news, and remembers that it was told.
    pub fn is_news(&mut self, text: &str) -> bool {
        let digest = Digest32::of(text.as_bytes());
        self.told.replace(digest) != Some(digest)
    }
}

/// What the keys of all sessions begin with.
pub const PREFIX: &str = "session/";

/// How long a session that is not heard of is remembered.
pub const KEPT_FOR_MS: i64 = 30 * 24 * 60 * 60 * 1000;
