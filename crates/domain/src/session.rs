//! Work sessions: identity, mode, position on the trail, and log entries.
//!
//! A session is identified by its name (the host's session id, or the terminal's) and, once an
//! intent is declared, by a stamp. Only sessions with an intent are stored as records.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{NodeId, Principal};
use crate::named_enum::named_enum;
use crate::record::Recorded;
use crate::stamp::Stamp;
use crate::time::Timestamp;

/// Returns the host name of a principal, for callers without a session of their own.
#[must_use]
pub fn host_of_principal(actor: &Principal) -> &str {
    match actor {
        Principal::Human(_) => "human",
        Principal::Agent { host, .. } => host,
        Principal::System => "system",
    }
}

named_enum! {
    /// Work mode of a session.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum SessionMode {
        #[default]
        PlanDriven = "plan_driven",
        QuickFix = "quick_fix",
        Exploration = "exploration",
    }
}

impl SessionMode {
    /// Parses a mode's name.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == word)
    }
}

named_enum! {
    /// Whether a session is active or archived.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum SessionStatus {
        #[default]
        Active = "active",
        Archived = "archived",
    }
}

/// A session's rating of its own work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rating {
    pub at: Timestamp,
    /// 1 to 10.
    pub score: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The name and host of a new session.
#[derive(Clone, Copy, Debug)]
pub struct SessionOwner<'a> {
    pub name: &'a str,
    pub host: &'a str,
}

/// A session; a record, keyed by its stamp.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    pub stamp: Stamp,
    pub name: String,
    pub host: String,
    pub mode: SessionMode,
    pub status: SessionStatus,
    pub trajectory: NodeId,
    pub cursor: NodeId,
    /// The session that was resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Stamp>,
    pub created: Timestamp,
    pub updated: Timestamp,
    /// Number of entries in its log, which is also the number of the last one.
    pub log_entries: u32,
    pub compaction_count: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_compaction: Option<Timestamp>,
    /// Report of what the next compaction has to preserve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_compaction_report: Option<String>,
    /// The report that an agent or a model wrote; it is part of every briefing and compaction until
    /// the trajectory ends or another one is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_report: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ratings: Vec<Rating>,
}

/// Maximum number of stored ratings.
pub const MAX_RATINGS: usize = 20;

impl Session {
    /// Creates a session at the root of its trajectory.
    #[must_use]
    pub fn begin_session(
        stamp: Stamp,
        who: &SessionOwner<'_>,
        mode: SessionMode,
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
            // At the root of the trail until the first tactic is set.
            cursor: trajectory,
            from: None,
            created: now,
            updated: now,
            log_entries: 0,
            compaction_count: 0,
            last_compaction: None,
            next_compaction_report: None,
            given_report: None,
            ratings: Vec::new(),
        }
    }

    /// Creates the session that resumes this one: same position, same reports.
    #[must_use]
    pub fn resumed_by(&self, stamp: Stamp, who: &SessionOwner<'_>, now: Timestamp) -> Self {
        // The log is not copied: it belongs to the old session and is found through `from`.
        Self {
            cursor: self.cursor,
            from: Some(self.stamp),
            next_compaction_report: self.next_compaction_report.clone(),
            given_report: self.given_report.clone(),
            compaction_count: self.compaction_count,
            ..Self::begin_session(stamp, who, self.mode, self.trajectory, now)
        }
    }

    /// Whether the session is not archived.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.status == SessionStatus::Active
    }

    /// Returns the path of its session file.
    #[must_use]
    pub fn file_path(&self) -> String {
        // Derived, not stored: archiving changes the status, and the file moves with it.
        match self.status {
            SessionStatus::Active => format!("{SESSIONS_FOLDER}/{}.md", self.stamp),
            SessionStatus::Archived => format!("{ARCHIVE_FOLDER}/{}.md", self.stamp),
        }
    }
}

/// Folder of the session files.
pub const SESSIONS_FOLDER: &str = ".throughline/sessions";
/// Folder of the files of archived sessions.
pub const ARCHIVE_FOLDER: &str = ".throughline/sessions/archive";
/// The list of all sessions.
pub const MANIFEST_PATH: &str = ".throughline/sessions/manifest.json";
/// Template of a new session file.
pub const TEMPLATE_PATH: &str = ".throughline/templates/session.md";

impl Recorded for Session {
    const KIND: &'static str = "session";
}

/// Pointer to the current session of a name (`session/NAME`), a host (`host/HOST`) or the project
/// (`last`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CurrentSession {
    pub stamp: Stamp,
}

impl Recorded for CurrentSession {
    const KIND: &'static str = "current-session";
}

impl CurrentSession {
    /// Returns the key for a session name.
    #[must_use]
    pub fn session_key(name: &str) -> String {
        // The prefix keeps a session called `last` or `host/x` apart from the other keys.
        format!("session/{name}")
    }

    /// Returns the key for a host's latest session.
    #[must_use]
    pub fn host_key(host: &str) -> String {
        format!("host/{host}")
    }

    /// The key for the project's latest session.
    pub const LATEST_KEY: &'static str = "last";
}

/// The kind of a log entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogEntryKind {
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

impl LogEntryKind {
    /// Returns the text used in session files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
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

/// One entry of a session's log, keyed by [`LogEntry::key`]; append-only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    pub at: Timestamp,
    pub kind: LogEntryKind,
    /// The text, one line.
    pub text: String,
    /// The stamp of the node, anchor or note concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<Stamp>,
}

impl Recorded for LogEntry {
    const KIND: &'static str = "session-log";
}

impl LogEntry {
    /// Returns the key of a session's n-th entry.
    #[must_use]
    pub fn entry_key(session: &Stamp, number: u32) -> String {
        // Zero-padded: records are returned sorted by key as text, and a log has to be in order.
        format!("{session}/{number:06}")
    }

    /// Returns the key prefix of a session's entries.
    #[must_use]
    pub fn session_key_prefix(session: &Stamp) -> String {
        // With the slash: without it the log of `…-2` would be found under the first stamp as well.
        format!("{session}/")
    }
}
