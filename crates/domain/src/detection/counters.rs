//! Per-session counters, updated after each tool call and whenever the session maps its position.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::keywords::find_stuck_words;
use super::tool_use::ToolUse;
use super::{SignalKind, is_similar};
use crate::policy::SignalPolicy;
use crate::time::Timestamp;

/// The counters of one session. If they are lost, only a hint is lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionCounters {
    /// Number of tool calls of the session.
    pub turn_count: u32,
    pub successful_calls: u32,
    /// Tool calls since it last mapped its position.
    pub section_turns: u32,
    /// Calls since then, by purpose.
    pub section: ToolUseCounts,
    /// Calls by purpose, over the whole session.
    pub tool_type_counts: ToolUseCounts,
    pub consecutive_failures: u32,
    /// Mentions of being stuck since it last mapped its position: meaning and number.
    pub keyword_flags: BTreeMap<String, u32>,
    /// Text of the last tactic, and how many times in a row nearly the same was set.
    pub last_section_content: String,
    pub consecutive_same_section: u32,
    /// Writes without a declared action since it last mapped its position.
    pub undeclared_writes: u32,
    pub last_activity: Option<Timestamp>,
    pub files_touched: BTreeSet<String>,
    /// Signals that were reported and have not ended since.
    pub told: BTreeSet<SignalKind>,
    /// Id of the last counted call: some hosts report a call twice.
    pub last_call: Option<String>,
}

/// Number of calls by purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolUseCounts {
    pub read: u32,
    pub write: u32,
    pub query: u32,
    pub governance: u32,
}

impl ToolUseCounts {
    fn add_call(&mut self, what: ToolUse) {
        let counter = match what {
            ToolUse::Read => &mut self.read,
            ToolUse::Write => &mut self.write,
            ToolUse::Query => &mut self.query,
            ToolUse::Governance => &mut self.governance,
        };
        *counter = counter.saturating_add(1);
    }
}

/// The parts of a tool call that are counted.
#[derive(Clone, Debug)]
pub struct CountedCall<'a> {
    pub what: ToolUse,
    pub failed: bool,
    /// Natural-language text of the call: a description, a prompt, a question. Not file content, in
    /// which "stuck" may be part of a story.
    pub says: Option<&'a str>,
    /// Changed files.
    pub files: Vec<&'a str>,
    /// Whether an action is declared.
    pub action_declared: bool,
    pub at: Timestamp,
    /// The host's id of the call.
    pub call: Option<&'a str>,
}

/// Maximum number of remembered file names.
const MAX_FILES_TOUCHED: usize = 200;

impl SessionCounters {
    /// Counts one tool call.
    pub fn count_call(&mut self, seen: &CountedCall<'_>, policy: &SignalPolicy) {
        // Idempotent per call: some hosts fire two events for one call.
        if seen.call.is_some() && self.last_call.as_deref() == seen.call {
            return;
        }
        self.last_call = seen.call.map(str::to_owned);
        self.last_activity = Some(seen.at);
        self.turn_count = self.turn_count.saturating_add(1);
        self.tool_type_counts.add_call(seen.what);
        self.section.add_call(seen.what);
        self.consecutive_failures = if seen.failed {
            self.consecutive_failures.saturating_add(1)
        } else {
            0
        };
        if !seen.failed {
            self.successful_calls = self.successful_calls.saturating_add(1);
        }
        // Mapping the position is the checkpoint these turns ask for, so it is not one of them.
        if seen.what != ToolUse::Governance {
            self.section_turns = self.section_turns.saturating_add(1);
        }
        if seen.what == ToolUse::Write && !seen.failed {
            if !seen.action_declared {
                self.undeclared_writes = self.undeclared_writes.saturating_add(1);
            }
            // Every hook reads and writes the counters, so their size is bounded.
            let room = MAX_FILES_TOUCHED.saturating_sub(self.files_touched.len());
            self.files_touched
                .extend(seen.files.iter().take(room).map(|file| (*file).to_owned()));
        }
        for flag in seen
            .says
            .map(|text| find_stuck_words(text, &policy.stuck_words))
            .unwrap_or_default()
        {
            let often = self.keyword_flags.entry(flag).or_default();
            *often = often.saturating_add(1);
        }
    }

    /// Starts a new section after the session mapped its position. `tactic` is the text of the
    /// tactic, if one was mapped.
    pub fn start_section(&mut self, tactic: Option<&str>, policy: &SignalPolicy, now: Timestamp) {
        self.section_turns = 0;
        self.section = ToolUseCounts::default();
        self.keyword_flags.clear();
        self.undeclared_writes = 0;
        self.last_activity = Some(now);
        // Only tactics are compared. Actions repeat legitimately: "run the tests", "fix the lints".
        if let Some(tactic) = tactic {
            if is_similar(&self.last_section_content, tactic, policy.similar_percent) {
                self.consecutive_same_section = self.consecutive_same_section.saturating_add(1);
            } else {
                self.consecutive_same_section = 1;
            }
            tactic.clone_into(&mut self.last_section_content);
        }
    }

    /// Starts a new trajectory: counters of sections and failures are reset, totals stay.
    pub fn reset_for_trajectory(&mut self, now: Timestamp) {
        *self = Self {
            // Counters of the host's session stay; those of the old trajectory are reset.
            turn_count: self.turn_count,
            successful_calls: self.successful_calls,
            tool_type_counts: self.tool_type_counts,
            last_call: self.last_call.take(),
            last_activity: Some(now),
            ..Self::default()
        };
    }

    /// Returns the signals that were not reported yet and remembers the current ones, so that a
    /// signal that ended can be reported again.
    pub fn take_unreported<'s>(&mut self, signals: &'s [super::Signal]) -> Vec<&'s super::Signal> {
        let now: BTreeSet<SignalKind> = signals.iter().map(|signal| signal.kind).collect();
        let news = signals
            .iter()
            .filter(|signal| !self.told.contains(&signal.kind))
            .collect();
        // Replaced, not extended: a signal that ended and comes back is reported again.
        self.told = now;
        news
    }

    /// Returns how well the session is on course, from 0 to 100; each signal subtracts its weight.
    #[must_use]
    pub fn drift_score(&self, signals: &[super::Signal]) -> u32 {
        let lost: u32 = signals
            .iter()
            .map(|signal| signal.kind.drift_weight())
            .sum();
        100_u32.saturating_sub(lost)
    }
}
