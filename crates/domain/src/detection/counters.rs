//! What is counted of a session, after each of its tool calls and whenever it maps where it is.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::keywords::stuck_words;
use super::tool_use::ToolUse;
use super::{SignalKind, is_similar};
use crate::ids::Digest32;
use crate::policy::SignalPolicy;
use crate::time::Timestamp;

/// The counters of one session. Notes, not state: losing them costs a hint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// Tool calls since the session is known.
    pub turn_count: u32,
    pub successful_calls: u32,
    /// Tool calls since it last said where it is.
    pub section_turns: u32,
    /// Of those, by what they are for.
    pub section: Uses,
    /// By what they are for, over the whole session.
    pub tool_type_counts: Uses,
    pub consecutive_failures: u32,
    /// What calls said about being stuck since it last said where it is: meaning and how often.
    pub keyword_flags: BTreeMap<String, u32>,
    /// What the last tactic said, and how often nearly that was said in a row.
    pub last_section_content: String,
    pub consecutive_same_section: u32,
    /// Writes since it last said where it is, while no action was declared.
    pub undeclared_writes: u32,
    pub last_activity: Option<Timestamp>,
    pub files_touched: BTreeSet<String>,
    /// Signals that were told and have not ended since.
    pub told: BTreeSet<SignalKind>,
    /// Session files that were read, and what stood in them.
    pub read_files: BTreeMap<String, Digest32>,
    /// The last call that was counted: some hosts tell of one twice.
    pub last_call: Option<String>,
}

/// Calls by what they are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Uses {
    pub read: u32,
    pub write: u32,
    pub query: u32,
    pub governance: u32,
}

impl Uses {
    fn add(&mut self, what: ToolUse) {
        let counter = match what {
            ToolUse::Read => &mut self.read,
            ToolUse::Write => &mut self.write,
            ToolUse::Query => &mut self.query,
            ToolUse::Governance => &mut self.governance,
        };
        *counter = counter.saturating_add(1);
    }
}

/// A tool call, as far as counting goes.
#[derive(Clone, Debug)]
pub struct Seen<'a> {
    pub what: ToolUse,
    pub failed: bool,
    /// What the call says in words: a description, a prompt, a question. Not the text of a file.
    pub says: Option<&'a str>,
    /// Files it changed.
    pub files: Vec<&'a str>,
    /// Whether an action is declared.
    pub action_declared: bool,
    pub at: Timestamp,
    /// The host's id of the call.
    pub call: Option<&'a str>,
}

/// So many file names are kept.
const MOST_FILES: usize = 200;

impl Counters {
    /// Returns the key of a session's counters.
    #[must_use]
    pub fn key(session: &str) -> String {
        format!("{PREFIX}{session}")
    }

    /// Counts one tool call.
    pub fn count(&mut self, seen: &Seen<'_>, policy: &SignalPolicy) {
        if seen.call.is_some() && self.last_call.as_deref() == seen.call {
            return;
        }
        self.last_call = seen.call.map(str::to_owned);
        self.last_activity = Some(seen.at);
        self.turn_count = self.turn_count.saturating_add(1);
        self.tool_type_counts.add(seen.what);
        self.section.add(seen.what);
        self.consecutive_failures = if seen.failed {
            self.consecutive_failures.saturating_add(1)
        } else {
            0
        };
        if !seen.failed {
            self.successful_calls = self.successful_calls.saturating_add(1);
        }
        // To say where one is does not count as staying there.
        if seen.what != ToolUse::Governance {
            self.section_turns = self.section_turns.saturating_add(1);
        }
        if seen.what == ToolUse::Write && !seen.failed {
            if !seen.action_declared {
                self.undeclared_writes = self.undeclared_writes.saturating_add(1);
            }
            let room = MOST_FILES.saturating_sub(self.files_touched.len());
            self.files_touched
                .extend(seen.files.iter().take(room).map(|file| (*file).to_owned()));
        }
        for flag in seen
            .says
            .map(|text| stuck_words(text, &policy.stuck_words))
            .unwrap_or_default()
        {
            let often = self.keyword_flags.entry(flag).or_default();
            *often = often.saturating_add(1);
        }
    }

    /// The session says where it is: a new section begins. `tactic` is what a tactic says, where one was mapped.
    pub fn mapped(&mut self, tactic: Option<&str>, policy: &SignalPolicy, now: Timestamp) {
        self.section_turns = 0;
        self.section = Uses::default();
        self.keyword_flags.clear();
        self.undeclared_writes = 0;
        self.last_activity = Some(now);
        if let Some(tactic) = tactic {
            if is_similar(&self.last_section_content, tactic, policy.similar_percent) {
                self.consecutive_same_section = self.consecutive_same_section.saturating_add(1);
            } else {
                self.consecutive_same_section = 1;
            }
            tactic.clone_into(&mut self.last_section_content);
        }
    }

    /// A new trajectory: nothing that was counted is about it.
    pub fn declared(&mut self, now: Timestamp) {
        *self = Self {
            turn_count: self.turn_count,
            successful_calls: self.successful_calls,
            tool_type_counts: self.tool_type_counts,
            read_files: std::mem::take(&mut self.read_files),
            last_call: self.last_call.take(),
            last_activity: Some(now),
            ..Self::default()
        };
    }

    /// Returns the signals that have not been told yet, and remembers which there are: what ended may be told again.
    pub fn news<'s>(&mut self, signals: &'s [super::Signal]) -> Vec<&'s super::Signal> {
        let now: BTreeSet<SignalKind> = signals.iter().map(|signal| signal.kind).collect();
        let news = signals
            .iter()
            .filter(|signal| !self.told.contains(&signal.kind))
            .collect();
        self.told = now;
        news
    }

    /// Returns how far the session has strayed, 0 to 100: 100 is on its way.
    #[must_use]
    pub fn drift_score(&self, signals: &[super::Signal]) -> u32 {
        let lost: u32 = signals.iter().map(|signal| signal.kind.weight()).sum();
        100_u32.saturating_sub(lost)
    }
}

/// What the keys of all counters begin with.
pub const PREFIX: &str = "counters/";
