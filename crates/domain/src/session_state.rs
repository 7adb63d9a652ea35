//! Per-session state between events: what the conversation knows, the work, and the counters.
//!
//! One note per session, loaded once per event and stored inside the event's write transaction. A
//! note, not a record: losing it costs a repeated message, never a plan.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::detection::SessionCounters;
use crate::host_event::Host;
use crate::ids::{Digest32, NodeId, OperationId, VersionHash};
use crate::ports::ChangedLines;
use crate::time::Timestamp;
use crate::typed_command::PlanCommand;

/// The state of a session, shared by its hooks and commands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionState {
    pub conversation: Conversation,
    pub work: WorkState,
    // Only projects with a trail count calls; the others need not write a page of zeros.
    #[serde(skip_serializing_if = "has_no_calls")]
    pub counters: SessionCounters,
    /// The last operation it was told about or made itself; outlives the conversation, which may be
    /// resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told_operation: Option<OperationId>,
}

impl SessionState {
    /// Returns the note key of a session.
    #[must_use]
    pub fn note_key(session: &str) -> String {
        format!("{NOTE_KEY_PREFIX}state/{session}")
    }

    /// Parses the note. One that another version wrote counts as lost: the session then reads its
    /// plans again, which is cheaper than an error that stops the agent.
    #[must_use]
    pub fn from_note(body: Option<&str>) -> Self {
        body.and_then(|body| serde_json::from_str(body).ok())
            .unwrap_or_default()
    }

    /// Renders the note.
    #[must_use]
    pub fn to_note(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

fn has_no_calls(counters: &SessionCounters) -> bool {
    *counters == SessionCounters::default()
}

/// What the model has read and been given in its conversation; a new conversation starts empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Conversation {
    /// The host it is held in.
    pub host: Option<Host>,
    /// Whether a session start was received.
    pub started: bool,
    /// The version of each plan it last read or wrote.
    pub read: BTreeMap<NodeId, VersionHash>,
    /// Session files it read or wrote, with the digest of their content.
    pub read_files: BTreeMap<String, Digest32>,
    /// The version of each parent's plan it was given as context.
    pub given: BTreeMap<NodeId, VersionHash>,
    /// The conversation was compacted, and the model has not had a briefing since.
    pub owed_a_briefing: bool,
    /// It had a briefing in this turn already; some hosts do not report back what we sent.
    pub briefed_this_turn: bool,
    /// When it had its last whole briefing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub briefed_at: Option<Timestamp>,
    /// Messages that could not be delivered yet, for the next prompt or tool.
    pub untold: Vec<String>,
    /// Digest of the version and warnings last sent about each plan.
    pub warned: BTreeMap<NodeId, Digest32>,
    /// Digest of the last slash command executed and its reply; some hosts report one twice.
    pub answered: Option<Digest32>,
    /// Digest of the last text sent, which is not sent twice in a row.
    pub told: Option<Digest32>,
    /// Digests of the overlaps with other sessions it was told about.
    pub told_overlaps: Vec<Digest32>,
    /// The guides of work phases it was given in full, with the digest of their text.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub guides: BTreeMap<String, Digest32>,
    /// How often a gate was reported for the same cause, by the digest of the cause.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub fired_gates: BTreeMap<Digest32, u8>,
    /// The title that was offered for a ticket of its first prompt; empty once it was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered_ticket: Option<String>,
    /// Planning handed to subagents that have not started yet, in the order of the calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub handed_over: Vec<PlanCommand>,
    /// The context that its subagents were given, the latest ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subagents: Vec<SubagentContext>,
}

/// What a subagent was given: it does not see the conversation of the main agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubagentContext {
    /// The host's id of the subagent.
    pub id: String,
    /// The version of each plan it read, wrote or was given.
    pub given: BTreeMap<NodeId, VersionHash>,
}

/// The work of a session: commits, uncommitted lines, guides given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkState {
    /// HEAD when it was last read.
    pub head: Option<String>,
    /// HEAD up to which the TDD cycles of its ticket are recorded.
    pub followed: Option<String>,
    /// Uncommitted line counts at that time; `None` if files may have changed since.
    pub uncommitted: Option<Vec<ChangedLines>>,
    /// Whether a command ran after which they were not counted; the next prompt counts them.
    pub uncounted: bool,
    /// Whether the agent was told that they are above the limit.
    pub told_of_limit: bool,
    /// The phase it was last told of, by ticket.
    pub guided: BTreeMap<NodeId, String>,
    /// A phase that started and waits for a commit.
    pub pending: Option<PendingPhase>,
    /// Digest of the follow-up sent when it wanted to stop, once per turn.
    pub followed_up: Option<Digest32>,
}

/// A finished tool call that could not be recorded, because the state was locked or slow. It is kept
/// beside the state, and the next event of its session takes it over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MissedCall {
    /// The plans and session files it read or wrote, with the digest of their text after the call.
    pub texts: BTreeMap<String, Digest32>,
    /// Other files of the project it changed.
    pub files: Vec<String>,
    /// Whether it may have changed files that it does not name.
    pub may_change_anything: bool,
}

/// A phase that started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingPhase {
    pub ticket: NodeId,
    /// The phase before it; empty if it was unknown.
    #[serde(default)]
    pub from: String,
    pub to: String,
    /// Whether the session was told of it.
    #[serde(default)]
    pub is_announced: bool,
    /// HEAD at that time.
    pub head: Option<String>,
}

/// A briefing is not repeated sooner, not even after midnight.
const MIN_BRIEFING_GAP_MS: i64 = 4 * 60 * 60 * 1000;

impl Conversation {
    /// Whether a prompt is the first of a day: the last briefing is of another one.
    #[must_use]
    pub fn is_new_day(&self, now: Timestamp) -> bool {
        self.briefed_at.is_some_and(|then| {
            // Before the days are compared, which needs the time zone.
            now.millis_since(then) >= MIN_BRIEFING_GAP_MS
                && now.format_local_day() != then.format_local_day()
        })
    }

    /// Returns a new conversation in a host.
    #[must_use]
    pub fn of_host(host: Option<Host>) -> Self {
        Self {
            host,
            ..Self::default()
        }
    }

    /// Forgets the context given to the model, when a conversation starts again without it.
    pub fn forget_shown_context(&mut self) {
        // `read` stays: otherwise the read-before-write gate would ask for every plan again after
        // each compaction.
        self.given.clear();
        self.guides.clear();
        self.fired_gates.clear();
        self.told = None;
    }

    /// Counts that a gate is reported, and returns whether the conversation has read it in full as
    /// often as is useful.
    pub fn count_fired_gate(&mut self, cause: &str) -> bool {
        // Forgetting all of them costs a message in full once more; keeping an order would cost
        // every hook.
        if self.fired_gates.len() >= MAX_FIRED_GATES {
            self.fired_gates.clear();
        }
        let digest = Digest32::of_bytes(cause.as_bytes());
        let count = self.fired_gates.entry(digest).or_default();
        *count = count.saturating_add(1);
        *count > MAX_FULL_OBJECTIONS
    }

    /// Whether a version of a plan is in the context of the main agent or of a subagent.
    #[must_use]
    pub fn knows_version(&self, agent: Option<&str>, node: NodeId, version: VersionHash) -> bool {
        // A subagent does not see what the main agent read; only what it was given itself counts.
        let known = match agent {
            None => [self.given.get(&node), self.read.get(&node)],
            Some(id) => {
                let subagent = self.subagents.iter().find(|one| one.id == id);
                [subagent.and_then(|one| one.given.get(&node)), None]
            }
        };
        known.contains(&Some(&version))
    }

    /// Remembers that a plan was given to the main agent or to a subagent.
    pub fn remember_given(&mut self, agent: Option<&str>, node: NodeId, version: VersionHash) {
        let Some(id) = agent else {
            self.given.insert(node, version);
            return;
        };
        if !self.subagents.iter().any(|one| one.id == id) {
            // Bounded like the overlaps. Without the end of a subagent: it may be resumed.
            let excess = (self.subagents.len() + 1).saturating_sub(MAX_SUBAGENTS);
            self.subagents.drain(..excess);
            self.subagents.push(SubagentContext {
                id: id.to_owned(),
                given: BTreeMap::new(),
            });
        }
        for subagent in self.subagents.iter_mut().filter(|one| one.id == id) {
            subagent.given.insert(node, version);
        }
    }

    /// Remembers that the main agent or a subagent read or wrote a plan.
    ///
    /// The session has read it in any case, which is what the read-before-write gate asks for: a
    /// subagent works for the session.
    pub fn remember_read(&mut self, agent: Option<&str>, node: NodeId, version: VersionHash) {
        self.read.insert(node, version);
        if agent.is_some() {
            self.remember_given(agent, node, version);
        }
    }

    /// Remembers planning that was handed to a subagent, the latest calls.
    pub fn remember_handover(&mut self, plan: PlanCommand) {
        let excess = (self.handed_over.len() + 1).saturating_sub(MAX_SUBAGENTS);
        self.handed_over.drain(..excess);
        self.handed_over.push(plan);
    }

    /// Remembers overlaps as told, the latest ones.
    pub fn remember_overlaps(&mut self, digests: impl Iterator<Item = Digest32>) {
        self.told_overlaps.extend(digests);
        // Bounded, because the state is read and written by every hook.
        let excess = self.told_overlaps.len().saturating_sub(MAX_TOLD_OVERLAPS);
        self.told_overlaps.drain(..excess);
    }

    /// Remembers a text as sent; returns whether it differs from the previous one.
    pub fn remember_if_new(&mut self, text: &str) -> bool {
        let digest = Digest32::of_bytes(text.as_bytes());
        self.told.replace(digest) != Some(digest)
    }
}

/// Number of times that a gate is reported in full for the same cause.
const MAX_FULL_OBJECTIONS: u8 = 2;
/// Maximum number of causes that are remembered.
const MAX_FIRED_GATES: usize = 32;
/// Maximum number of overlaps remembered as told.
const MAX_TOLD_OVERLAPS: usize = 64;

/// Maximum number of subagents whose context is remembered.
const MAX_SUBAGENTS: usize = 16;

/// Key prefix of all session notes.
pub const NOTE_KEY_PREFIX: &str = "session/";

/// Retention of the notes of inactive sessions, in milliseconds.
pub const RETENTION_MS: i64 = 30 * 24 * 60 * 60 * 1000;
