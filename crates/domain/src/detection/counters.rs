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
    /// Calls with such a mention since then, each counted once.
    pub stuck_calls: u32,
    /// The last command that failed, and how many times in a row nearly the same one did.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub failing_command: String,
    #[serde(skip_serializing_if = "is_zero")]
    pub same_failures: u32,
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

fn is_zero(number: &u32) -> bool {
    *number == 0
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
    /// The command line, if it is one.
    pub command: Option<&'a str>,
    /// Changed files.
    pub files: Vec<&'a str>,
    /// Whether an action is declared.
    pub action_declared: bool,
    pub at: Timestamp,
    /// The host's id of the call.
    pub call: Option<&'a str>,
}

/// Maximum number of characters of a command that are remembered and compared.
const MAX_COMMAND_CHARS: usize = 200;
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
        let flags = seen
            .says
            .map(|text| find_stuck_words(text, &policy.stuck_words))
            .unwrap_or_default();
        // Once per call, however many words it has: the threshold is a number of calls.
        self.stuck_calls = self
            .stuck_calls
            .saturating_add(u32::from(!flags.is_empty()));
        for flag in flags {
            let often = self.keyword_flags.entry(flag).or_default();
            *often = often.saturating_add(1);
        }
        if let Some(command) = seen.command {
            self.count_command(command, seen.failed, policy);
        }
    }

    /// Counts how many times in a row nearly the same command failed. Other commands in between do
    /// not end the series; its success does.
    fn count_command(&mut self, command: &str, failed: bool, policy: &SignalPolicy) {
        // Nearly: an agent that retries changes an option or a path.
        let is_same = is_similar(&self.failing_command, command, policy.similar_percent);
        match (failed, is_same) {
            (true, true) => self.same_failures = self.same_failures.saturating_add(1),
            (true, false) => {
                self.failing_command = command.chars().take(MAX_COMMAND_CHARS).collect();
                self.same_failures = 1;
            }
            (false, true) => {
                self.failing_command.clear();
                self.same_failures = 0;
            }
            (false, false) => {}
        }
    }

    /// Starts a new section after the session mapped its position. `tactic` is the text of the
    /// tactic, if one was mapped.
    pub fn start_section(&mut self, tactic: Option<&str>, policy: &SignalPolicy, now: Timestamp) {
        self.section_turns = 0;
        self.section = ToolUseCounts::default();
        self.keyword_flags.clear();
        self.stuck_calls = 0;
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

#[cfg(test)]
mod tests {
    use super::{CountedCall, SessionCounters};
    use crate::detection::ToolUse;
    use crate::policy::SignalPolicy;
    use crate::time::Timestamp;

    fn call(says: Option<&'static str>) -> CountedCall<'static> {
        CountedCall {
            what: ToolUse::Query,
            failed: false,
            says,
            command: None,
            files: Vec::new(),
            action_declared: false,
            at: Timestamp::from_millis(0),
            call: None,
        }
    }

    #[test]
    fn a_call_with_several_stuck_words_counts_once() {
        let mut counters = SessionCounters::default();
        let policy = SignalPolicy::default();
        let says = "stuck, confused, same error: trying again";
        counters.count_call(&call(Some(says)), &policy);
        assert_eq!(counters.stuck_calls, 1);
        assert_eq!(counters.keyword_flags.len(), 4);
        counters.count_call(&call(None), &policy);
        assert_eq!(counters.stuck_calls, 1);
    }

    #[test]
    fn a_command_that_fails_again_is_a_series_until_it_succeeds() {
        let mut counters = SessionCounters::default();
        let policy = SignalPolicy::default();
        let run = |counters: &mut SessionCounters, command: &'static str, failed| {
            let call = CountedCall {
                failed,
                command: Some(command),
                ..call(None)
            };
            counters.count_call(&call, &policy);
            counters.same_failures
        };
        assert_eq!(run(&mut counters, "cargo test -p shop", true), 1);
        assert_eq!(run(&mut counters, "ls src", false), 1);
        assert_eq!(run(&mut counters, "cargo test -p shop", true), 2);
        assert_eq!(run(&mut counters, "cargo test -p shop", false), 0);
    }
}
