//! Computes signals from counters, trail and time, the most serious first.

use serde::{Deserialize, Serialize};

use super::SessionCounters;
use crate::named_enum::named_enum;
use crate::policy::SignalPolicy;
use crate::time::format_duration;
use crate::trail::{GapLimits, GapSeverity, gap_severity};

named_enum! {
    /// The kinds of signals, ordered by severity, the most serious first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum SignalKind {
        /// Consecutive tool calls fail.
        Failures = "failures",
        /// Files are written without a declared action.
        UndeclaredWrites = "undeclared-writes",
        /// The same tactic is set, or the same command fails, repeatedly.
        Repetition = "repetition",
        /// Calls mention being stuck.
        StuckWords = "stuck-words",
        /// Long inactivity: the context is probably lost.
        TimeGap = "time-gap",
        /// Many tool calls without a checkpoint.
        SectionTurns = "section-turns",
        /// Many reads, no write.
        ReadsWithoutWrites = "reads-without-writes",
        /// A trail in an older format was not migrated yet.
        MissingTree = "missing-tree",
        /// Many finished branches could be pruned.
        CompletedBranches = "completed-branches",
        /// Some inactivity.
        WarmGap = "warm-gap",
    }
}

impl SignalKind {
    /// Returns how much it subtracts from the drift score.
    #[must_use]
    pub fn drift_weight(self) -> u32 {
        match self {
            // Steps that follow the severity. The first two groups together exceed 100, so the
            // score can reach 0 without the minor signals.
            Self::Failures | Self::UndeclaredWrites | Self::Repetition => 25,
            Self::StuckWords | Self::TimeGap => 20,
            Self::SectionTurns | Self::ReadsWithoutWrites => 15,
            Self::MissingTree | Self::CompletedBranches | Self::WarmGap => 5,
        }
    }
}

/// Something noticed that is worth reporting to the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Signal {
    pub kind: SignalKind,
    /// The fact, in one sentence.
    pub text: String,
    /// A suggested next step.
    pub next_step: &'static str,
}

/// What signals depend on besides the counters.
#[derive(Clone, Debug, Default)]
pub struct SignalContext<'a> {
    /// Whether the project keeps a trail. Without one only the signals about calls are detected.
    pub has_trail: bool,
    /// Text of the cursor's node, or title of the ticket the session is at; `None` if neither says
    /// what the work is for.
    pub section: Option<&'a str>,
    /// Time since the last activity on the trail.
    pub gap_ms: Option<i64>,
    pub completed_branches: usize,
    /// There is a trail in an older format, and ours is empty.
    pub older_trail: bool,
}

/// Returns the current signals, the most serious first.
#[must_use]
pub fn detect_session_signals(
    counters: &SessionCounters,
    around: &SignalContext<'_>,
    policy: &SignalPolicy,
) -> Vec<Signal> {
    SignalKind::ALL
        .into_iter()
        // Unknown names in `off` are refused when the settings are parsed, so none is ignored here.
        .filter(|kind| !policy.off.iter().any(|name| name == kind.as_str()))
        .filter_map(|kind| detect_kind(kind, counters, around, policy))
        .collect()
}

/// Returns the signal of one kind, if its threshold is reached.
fn detect_kind(
    kind: SignalKind,
    counters: &SessionCounters,
    around: &SignalContext<'_>,
    policy: &SignalPolicy,
) -> Option<Signal> {
    let (text, next_step) = match kind {
        SignalKind::Failures => {
            // Consecutive only: a single failure is normal work, such as a test that is meant to
            // fail.
            let failures = counters.consecutive_failures;
            let next = match around.has_trail {
                true => "step back and look at what was decided: tl trail back",
                false => "step back: what is expected next: tl where",
            };
            reached(failures, policy.failures)
                .then(|| (format!("{failures} tool calls in a row failed"), next))?
        }
        // The others are about the trail.
        SignalKind::UndeclaredWrites
        | SignalKind::TimeGap
        | SignalKind::WarmGap
        | SignalKind::SectionTurns
        | SignalKind::MissingTree
        | SignalKind::CompletedBranches
            if !around.has_trail =>
        {
            return None;
        }
        SignalKind::UndeclaredWrites => detect_undeclared_writes(counters, around, policy)?,
        SignalKind::Repetition => detect_repetition(counters, around, policy)?,
        SignalKind::StuckWords => detect_stuck_words(counters, around, policy)?,
        SignalKind::TimeGap => {
            format_gap_of_severity(around, policy, GapSeverity::Stale).map(|span| {
                (
                    format!("{span} since anything happened on the trail: context may be lost"),
                    "check the current position: tl trail scan",
                )
            })?
        }
        SignalKind::WarmGap => {
            format_gap_of_severity(around, policy, GapSeverity::Warm).map(|span| {
                (
                    format!("{span} since anything happened on the trail"),
                    "check the current position: tl trail scan",
                )
            })?
        }
        SignalKind::SectionTurns => detect_section_turns(counters, around, policy)?,
        SignalKind::ReadsWithoutWrites => detect_reads_without_writes(counters, around, policy)?,
        SignalKind::MissingTree => around.older_trail.then(|| {
            (
                "there is a trail in an older format that was not migrated yet".to_owned(),
                "tl trail migrate",
            )
        })?,
        SignalKind::CompletedBranches => {
            let done = u32::try_from(around.completed_branches).unwrap_or(u32::MAX);
            reached(done, policy.completed_branches).then(|| {
                (
                    format!("{done} branches are complete"),
                    "clean up: tl trail prune",
                )
            })?
        }
    };
    Some(Signal {
        kind,
        text,
        next_step,
    })
}

/// Whether a count reaches its threshold; 0 means off, not "always".
fn reached(count: u32, threshold: u32) -> bool {
    threshold > 0 && count >= threshold
}

/// Returns text and next step of the signal, if its threshold is reached.
fn detect_undeclared_writes(
    counters: &SessionCounters,
    around: &SignalContext<'_>,
    policy: &SignalPolicy,
) -> Option<(String, &'static str)> {
    let writes = counters.undeclared_writes;
    reached(writes, policy.undeclared_writes).then(|| {
        // Without an intent there is no trajectory yet that an action could be added to, so
        // the next step differs.
        let what = if around.section.is_none() {
            "no intent is declared"
        } else {
            "no action is declared"
        };
        let times = if writes == 1 {
            "a file was written".to_owned()
        } else {
            format!("{writes} writes")
        };
        let next = if around.section.is_none() {
            "tl trail intent \"what this is for\""
        } else {
            "tl trail map action \"what is being done\""
        };
        (format!("{times}, but {what} on the trail"), next)
    })
}

/// Returns text and next step of the signal, if its threshold is reached: a tactic that is set again
/// and again, or a command that fails again and again.
fn detect_repetition(
    counters: &SessionCounters,
    around: &SignalContext<'_>,
    policy: &SignalPolicy,
) -> Option<(String, &'static str)> {
    let times = counters.consecutive_same_section;
    if around.has_trail && reached(times, policy.repetitions) {
        let quote = shorten_quote(&counters.last_section_content);
        return Some((
            format!("the tactic was set {times} times with nearly the same text (“{quote}”)"),
            "going in circles? look at the whole: tl trail back",
        ));
    }
    let times = counters.same_failures;
    // One more than tactics: a test fails, is worked on, and fails once more in ordinary work.
    (policy.repetitions > 0 && times > policy.repetitions).then(|| {
        let quote = shorten_quote(&counters.failing_command);
        let next = match around.has_trail {
            true => "try another way: tl trail map tactic \"…\"",
            false => "read the first error again, or try another way: tl where",
        };
        (format!("`{quote}` failed {times} times in a row"), next)
    })
}

/// Returns text and next step of the signal, if its threshold is reached.
fn detect_stuck_words(
    counters: &SessionCounters,
    around: &SignalContext<'_>,
    policy: &SignalPolicy,
) -> Option<(String, &'static str)> {
    let times = counters.stuck_calls;
    reached(times, policy.stuck_words_seen).then(|| {
        let flags: Vec<&str> = counters.keyword_flags.keys().map(String::as_str).collect();
        let next = match around.has_trail {
            true => "refocus: tl trail back",
            false => "refocus: tl where",
        };
        (
            format!("{times} calls mentioned being stuck ({})", flags.join(", ")),
            next,
        )
    })
}

/// Returns text and next step of the signal, if its threshold is reached.
fn detect_section_turns(
    counters: &SessionCounters,
    around: &SignalContext<'_>,
    policy: &SignalPolicy,
) -> Option<(String, &'static str)> {
    let turns = counters.section_turns;
    reached(turns, policy.section_turns).then(|| {
        let place = around
            .section
            .map(|section| format!(" on “{}”", shorten_quote(section)))
            .unwrap_or_default();
        (
            format!("{turns} calls{place} since the last checkpoint"),
            "keep what was decided: tl trail map, or tl note add --pin",
        )
    })
}

/// Returns text and next step of the signal, if its threshold is reached.
fn detect_reads_without_writes(
    counters: &SessionCounters,
    around: &SignalContext<'_>,
    policy: &SignalPolicy,
) -> Option<(String, &'static str)> {
    // A single write in the section ends the suspicion: reading is then preparation for it.
    let looks = counters.section.read.saturating_add(counters.section.query);
    (counters.section.write == 0 && reached(looks, policy.reads_without_writes)).then(|| {
        let next = match around.has_trail {
            true => "still exploring, or stuck? tl trail map says which",
            false => "still exploring, or stuck? what is expected next: tl where",
        };
        (format!("{looks} reads and searches, 0 writes"), next)
    })
}

/// Returns the inactivity as text, if it is of the wanted severity. Exactly one of the two gap
/// signals can fire.
fn format_gap_of_severity(
    around: &SignalContext<'_>,
    policy: &SignalPolicy,
    wanted: GapSeverity,
) -> Option<String> {
    let gap = around.gap_ms?;
    (gap_severity(gap, policy.gap_limits()) == wanted).then(|| format_duration(gap))
}

impl SignalPolicy {
    /// Returns the thresholds of warm and stale gaps.
    #[must_use]
    pub fn gap_limits(&self) -> GapLimits {
        GapLimits {
            warm_minutes: self.warm_minutes,
            stale_minutes: self.stale_minutes,
        }
    }
}

/// Shortens a quoted text for a signal's one line.
fn shorten_quote(text: &str) -> String {
    // A signal is one line of a hook's reply, so a quoted text only has to be recognisable.
    const MAX_QUOTE_CHARS: usize = 80;
    if text.chars().count() <= MAX_QUOTE_CHARS {
        return text.to_owned();
    }
    text.chars().take(MAX_QUOTE_CHARS).chain(['…']).collect()
}
