//! Sessions of work: who they are, where each stands on the trail, and its log.
//!
//! A session is known by its name, which is the host's id of it or the terminal's own, and, once an intent is declared,
//! by a stamp.

use serde::{Deserialize, Serialize};

use crate::ids::{NodeId, Principal};
use crate::record::Recorded;
use crate::stamp::Stamp;
use crate::time::Timestamp;

/// Returns the host someone acts through, for who has no session of their own.
#[must_use]
pub fn host_of(actor: &Principal) -> &str {
    match actor {
        Principal::Human(_) => "human",
        Principal::Agent { host, .. } => host,
        Principal::System => "system",
    }
}

/// How a session goes about its work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    #[default]
    PlanDriven,
    QuickFix,
    Exploration,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::PlanDriven, Self::QuickFix, Self::Exploration];

    /// Returns the word used everywhere.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::PlanDriven => "plan_driven",
            Self::QuickFix => "quick_fix",
            Self::Exploration => "exploration",
        }
    }

    /// Returns the mode of that word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.word() == word)
    }
}

/// Whether a session goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionStatus {
    #[default]
    Active,
    Archived,
}

impl SessionStatus {
    /// Returns the word used everywhere.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Archived => "archived",
        }
    }
}

/// What a session says of its own work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rating {
    pub at: Timestamp,
    /// 1 to 10.
    pub score: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Who begins a session.
#[derive(Clone, Copy, Debug)]
pub struct Who<'a> {
    pub name: &'a str,
    pub host: &'a str,
}

/// A session; kept under its stamp.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    pub stamp: Stamp,
    pub name: String,
    pub host: String,
    pub mode: Mode,
    pub status: SessionStatus,
    pub trajectory: NodeId,
    pub cursor: NodeId,
    /// The session whose trajectory was taken up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Stamp>,
    pub created: Timestamp,
    pub updated: Timestamp,
    /// How many entries its log has.
    pub log_entries: u32,
    pub compaction_count: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_compaction: Option<Timestamp>,
    /// What the next compaction is to keep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_compaction_report: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ratings: Vec<Rating>,
}

/// So many ratings are kept.
pub const MOST_RATINGS: usize = 20;

impl Session {
    /// Returns a session that begins.
    #[must_use]
    pub fn begin(
        stamp: Stamp,
        who: &Who<'_>,
        mode: Mode,
        trajectory: NodeId,
        now: Timestamp,
    ) -> Self {
        Self {
            stamp,
            name: who.name.to_owned(),
            host: who.host.to_owned(),
            mode,
            status: SessionStatus::Active,
            trajectory,
            cursor: trajectory,
            from: None,
            created: now,
            updated: now,
            log_entries: 0,
            compaction_count: 0,
            last_compaction: None,
            next_compaction_report: None,
            ratings: Vec::new(),
        }
    }

    /// Returns the session that goes on where this one ended: same place, same report.
    #[must_use]
    pub fn taken_up(&self, stamp: Stamp, who: &Who<'_>, now: Timestamp) -> Self {
        Self {
            cursor: self.cursor,
            from: Some(self.stamp),
            next_compaction_report: self.next_compaction_report.clone(),
            compaction_count: self.compaction_count,
            ..Self::begin(stamp, who, self.mode, self.trajectory, now)
        }
    }

    /// Says whether the session goes on.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.status == SessionStatus::Active
    }

    /// Returns where its file lies.
    #[must_use]
    pub fn file(&self) -> String {
        match self.status {
            SessionStatus::Active => format!("{FOLDER}/{}.md", self.stamp),
            SessionStatus::Archived => format!("{ARCHIVE}/{}.md", self.stamp),
        }
    }
}

/// Where session files lie.
pub const FOLDER: &str = ".throughline/sessions";
/// Where those of archived sessions lie.
pub const ARCHIVE: &str = ".throughline/sessions/archive";
/// The list of all sessions.
pub const MANIFEST: &str = ".throughline/sessions/manifest.json";
/// What a new session file is made from.
pub const TEMPLATE: &str = ".throughline/templates/session.md";

impl Recorded for Session {
    const KIND: &'static str = "session";
}

/// Which session a name stands for now. Kept under `session/NAME`, `host/HOST` and `last`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CurrentSession {
    pub stamp: Stamp,
}

impl Recorded for CurrentSession {
    const KIND: &'static str = "current-session";
}

impl CurrentSession {
    /// Returns the key of a session's own.
    #[must_use]
    pub fn own(name: &str) -> String {
        format!("session/{name}")
    }

    /// Returns the key of a host's latest.
    #[must_use]
    pub fn of_host(host: &str) -> String {
        format!("host/{host}")
    }

    /// The key of the project's latest.
    pub const LAST: &'static str = "last";
}

/// What an entry of a log is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryKind {
    Intent,
    TakenUp,
    Tactic,
    Action,
    /// The work on a node is done.
    Done,
    Blocked,
    Decision,
    Note,
    Rating,
    Prune,
    Compaction,
    Migration,
}

impl EntryKind {
    /// Returns the word of the session file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Intent => "intent",
            Self::TakenUp => "taken up",
            Self::Tactic => "tactic",
            Self::Action => "action",
            Self::Done => "done",
            Self::Blocked => "blocked",
            Self::Decision => "decision",
            Self::Note => "note",
            Self::Rating => "rating",
            Self::Prune => "pruned",
            Self::Compaction => "compacted",
            Self::Migration => "migrated",
        }
    }
}

/// One entry of a session's log. Kept under [`LogEntry::key`]; never changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    pub at: Timestamp,
    pub kind: EntryKind,
    /// One line.
    pub text: String,
    /// The stamp of the node, anchor or note it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<Stamp>,
}

impl Recorded for LogEntry {
    const KIND: &'static str = "session-log";
}

impl LogEntry {
    /// Returns the key of a session's entry of that number.
    #[must_use]
    pub fn key(session: &Stamp, number: u32) -> String {
        format!("{session}/{number:06}")
    }

    /// Returns what the keys of a session's entries begin with.
    #[must_use]
    pub fn prefix(session: &Stamp) -> String {
        format!("{session}/")
    }
}
