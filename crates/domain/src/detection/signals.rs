//! From counters, trail and time to what is worth telling, the most serious first.

use serde::{Deserialize, Serialize};

use super::Counters;
use crate::policy::SignalPolicy;
use crate::time::span_for_people;
use crate::trail::{GapLimits, GapSeverity, severity};

/// What can be noticed. The order is that of severity, the most serious first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SignalKind {
    /// Tool calls fail one after the other.
    Failures,
    /// Files are written and no action is declared.
    UndeclaredWrites,
    /// The same tactic again and again.
    Repetition,
    /// Words that say someone is stuck.
    StuckWords,
    /// A long silence: the context is probably lost.
    TimeGap,
    /// Long in one place.
    SectionTurns,
    /// Much reading, no writing.
    ReadsWithoutWrites,
    /// There is a trail of an older form, and none here.
    MissingTree,
    /// Finished branches pile up.
    CompletedBranches,
    /// A silence worth a look.
    WarmGap,
}

impl SignalKind {
    /// Every signal, the most serious first.
    pub const ALL: [Self; 10] = [
        Self::Failures,
        Self::UndeclaredWrites,
        Self::Repetition,
        Self::StuckWords,
        Self::TimeGap,
        Self::SectionTurns,
        Self::ReadsWithoutWrites,
        Self::MissingTree,
        Self::CompletedBranches,
        Self::WarmGap,
    ];

    /// Returns the word of the settings and of JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Failures => "failures",
            Self::UndeclaredWrites => "undeclared-writes",
            Self::Repetition => "repetition",
            Self::StuckWords => "stuck-words",
            Self::TimeGap => "time-gap",
            Self::SectionTurns => "section-turns",
            Self::ReadsWithoutWrites => "reads-without-writes",
            Self::MissingTree => "missing-tree",
            Self::CompletedBranches => "completed-branches",
            Self::WarmGap => "warm-gap",
        }
    }

    /// Returns what it takes off the score of someone who is on their way.
    #[must_use]
    pub fn weight(self) -> u32 {
        match self {
            Self::Failures | Self::UndeclaredWrites | Self::Repetition => 25,
            Self::StuckWords | Self::TimeGap => 20,
            Self::SectionTurns | Self::ReadsWithoutWrites => 15,
            Self::MissingTree | Self::CompletedBranches | Self::WarmGap => 5,
        }
    }
}

/// Something worth telling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Signal {
    pub kind: SignalKind,
    /// The fact, in one sentence.
    pub text: String,
    /// What could be done.
    pub next_step: &'static str,
}

/// What is known besides the counters.
#[derive(Clone, Debug, Default)]
pub struct Surroundings<'a> {
    /// What the cursor's node says; `None` when no intent is declared.
    pub section: Option<&'a str>,
    /// Since the last thing that happened on the trail.
    pub gap_ms: Option<i64>,
    pub completed_branches: usize,
    /// There is a trail of an older form beside an empty one of ours.
    pub older_trail: bool,
}

/// Returns what is worth telling, the most serious first.
#[must_use]
pub fn detect(
    counters: &Counters,
    around: &Surroundings<'_>,
    policy: &SignalPolicy,
) -> Vec<Signal> {
    SignalKind::ALL
        .into_iter()
        .filter(|kind| !policy.off.iter().any(|name| name == kind.word()))
        .filter_map(|kind| about(kind, counters, around, policy))
        .collect()
}

fn about(
    kind: SignalKind,
    counters: &Counters,
    around: &Surroundings<'_>,
    policy: &SignalPolicy,
) -> Option<Signal> {
    let reached = |count: u32, threshold: u32| threshold > 0 && count >= threshold;
    let (text, next_step) = match kind {
        SignalKind::Failures => {
            let failures = counters.consecutive_failures;
            reached(failures, policy.failures).then(|| {
                (
                    format!("{failures} tool calls in a row failed"),
                    "step back and look at what was decided: tl think-back",
                )
            })?
        }
        SignalKind::UndeclaredWrites => {
            let writes = counters.undeclared_writes;
            reached(writes, policy.undeclared_writes).then(|| {
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
                    "tl intent \"what this is for\""
                } else {
                    "tl map action \"what is being done\""
                };
                (format!("{times}, but {what} on the trail"), next)
            })?
        }
        SignalKind::Repetition => {
            let times = counters.consecutive_same_section;
            reached(times, policy.repetitions).then(|| {
                (
                    format!(
                        "the tactic was set {times} times with nearly the same text (“{}”)",
                        short(&counters.last_section_content)
                    ),
                    "going in circles? look at the whole: tl think-back",
                )
            })?
        }
        SignalKind::StuckWords => {
            let times: u32 = counters.keyword_flags.values().sum();
            reached(times, policy.stuck_words_seen).then(|| {
                let flags: Vec<&str> = counters.keyword_flags.keys().map(String::as_str).collect();
                (
                    format!("{times} calls spoke of being stuck ({})", flags.join(", ")),
                    "refocus: tl think-back",
                )
            })?
        }
        SignalKind::TimeGap => gap(around, policy, GapSeverity::Stale).map(|span| {
            (
                format!("{span} since anything happened on the trail: context may be lost"),
                "see where it stands: tl scan",
            )
        })?,
        SignalKind::WarmGap => gap(around, policy, GapSeverity::Warm).map(|span| {
            (
                format!("{span} since anything happened on the trail"),
                "see where it stands: tl scan",
            )
        })?,
        SignalKind::SectionTurns => {
            let turns = counters.section_turns;
            reached(turns, policy.section_turns).then(|| {
                let place = around
                    .section
                    .map(|section| format!(" on “{}”", short(section)))
                    .unwrap_or_default();
                (
                    format!("{turns} turns{place} since the last checkpoint"),
                    "keep what was decided: tl map, or tl anchor add",
                )
            })?
        }
        SignalKind::ReadsWithoutWrites => {
            let looks = counters.section.read.saturating_add(counters.section.query);
            (counters.section.write == 0 && reached(looks, policy.reads_without_writes)).then(
                || {
                    (
                        format!("{looks} reads and searches, 0 writes"),
                        "still exploring, or stuck? tl map says which",
                    )
                },
            )?
        }
        SignalKind::MissingTree => around.older_trail.then(|| {
            (
                "there is a trail of an older form here, not taken over yet".to_owned(),
                "tl migrate",
            )
        })?,
        SignalKind::CompletedBranches => {
            let done = u32::try_from(around.completed_branches).unwrap_or(u32::MAX);
            reached(done, policy.completed_branches).then(|| {
                (
                    format!("{done} branches are complete"),
                    "clean up: tl prune",
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

/// Returns the gap, when it is of that severity.
fn gap(around: &Surroundings<'_>, policy: &SignalPolicy, wanted: GapSeverity) -> Option<String> {
    let gap = around.gap_ms?;
    (severity(gap, policy.gap_limits()) == wanted).then(|| span_for_people(gap))
}

impl SignalPolicy {
    /// Returns from when on a gap is warm or stale.
    #[must_use]
    pub fn gap_limits(&self) -> GapLimits {
        GapLimits {
            warm_minutes: self.warm_minutes,
            stale_minutes: self.stale_minutes,
        }
    }
}

fn short(text: &str) -> String {
    const MOST: usize = 80;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    text.chars().take(MOST).chain(['…']).collect()
}
