//! TDD cycle of a scenario (red, green, refactor): its record, and the step of a commit.
//!
//! It trusts the subject line: tests are run by evidence, not here. How a history leads through the
//! scenarios of a ticket is in `history.rs`.

use serde::{Deserialize, Serialize};

use crate::named_enum::named_enum;
pub use crate::policy::CommitPrefixes;
use crate::record::Recorded;
use crate::work::history::HistoryMark;

named_enum! {
    /// A step of the TDD cycle.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Cycle {
        /// A failing test is committed.
        Red = "red",
        /// The test passes.
        Green = "green",
        /// The code is cleaned up, and the scenario is done.
        Refactor = "refactor",
    }
}

/// Progress of a scenario's cycle, as the history of HEAD has it. A record, keyed by the scenario's
/// node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tdd {
    /// The last committed step; `None` before the first test.
    pub cycle: Option<Cycle>,
    /// Subject of the last commit of the cycle: `test: threshold detection`.
    pub last_commit: Option<String>,
    pub last_hash: Option<String>,
    /// Number of lines committed for this scenario, as far as hooks saw them.
    pub lines: u64,
    /// Subject of the commit that implemented the scenario before any failing test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untested: Option<String>,
    /// Whether commits completed the scenario, and not a user's decision.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
    /// When the scenario was written, if that was after the work on its ticket began: earlier commits
    /// are none of its steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<HistoryMark>,
    /// Decisions about the scenario's progress, oldest first, that the commits do not show.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<ScenarioDecision>,
}

/// A scenario that was completed or reopened by a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScenarioDecision {
    pub made: HistoryMark,
    pub completed: bool,
}

impl Recorded for Tdd {
    const KIND: &'static str = "tdd";
}

/// What a step means for the cycle of the current scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    To(Option<Cycle>),
    /// This step completes the scenario.
    Done,
    /// The step is the first test of the next scenario, so this one was already complete.
    DoneBefore,
}

/// Returns the step of a commit from its subject, in the form of Conventional Commits:
/// `feat(gates): …`, `fix!: …`.
#[must_use]
pub fn parse_commit_step(subject: &str, prefixes: &CommitPrefixes) -> Option<Cycle> {
    // The whole word has to match: `testing: x` is not a test, nor is a merge of branch `test: x`.
    let (head, _) = subject.split_once(':')?;
    let word = head
        .split(['(', '!'])
        .next()
        .unwrap_or_default()
        .trim()
        .to_lowercase();
    let is = |list: &[String]| list.iter().any(|known| known.to_lowercase() == word);
    if is(&prefixes.red) {
        Some(Cycle::Red)
    } else if is(&prefixes.green) {
        Some(Cycle::Green)
    } else if is(&prefixes.refactor) {
        Some(Cycle::Refactor)
    } else {
        None
    }
}

/// Returns what a step means for a scenario whose last step was `before`.
#[must_use]
pub fn advance_cycle(before: Option<Cycle>, step: Cycle) -> Advance {
    match (step, before) {
        // Refactoring is optional: many scenarios need none, and the next test says that this one
        // is over.
        (Cycle::Red, Some(Cycle::Green)) => Advance::DoneBefore,
        (Cycle::Refactor, Some(Cycle::Green)) => Advance::Done,
        // A refactoring while the test still fails completes nothing and keeps the step.
        (Cycle::Refactor, _) => Advance::To(before),
        (Cycle::Red | Cycle::Green, _) => Advance::To(Some(step)),
    }
}

/// Returns the subject of the commit that is expected next.
#[must_use]
pub fn expected_commit_subject(
    cycle: Option<Cycle>,
    about: &str,
    prefixes: &CommitPrefixes,
) -> String {
    // A list holds alternatives; suggesting its first word is enough.
    let word = |list: &[String]| list.first().cloned().unwrap_or_else(|| "commit".to_owned());
    match cycle {
        None => format!("{}: {about} (RED)", word(&prefixes.red)),
        Some(Cycle::Red) => format!("{}: {about} (GREEN)", word(&prefixes.green)),
        Some(Cycle::Green) => {
            format!(
                "{}: {about}, or {}: for the next scenario",
                word(&prefixes.refactor),
                word(&prefixes.red)
            )
        }
        Some(Cycle::Refactor) => format!("{}: the next scenario (RED)", word(&prefixes.red)),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Advance, CommitPrefixes, Cycle, advance_cycle, expected_commit_subject, parse_commit_step,
    };

    #[test]
    fn subjects_say_which_step_they_are() {
        let prefixes = CommitPrefixes::default();
        for (subject, step) in [
            ("test: threshold", Some(Cycle::Red)),
            ("Test(gates): threshold", Some(Cycle::Red)),
            ("feat!: x", Some(Cycle::Green)),
            ("fix(a b): x", Some(Cycle::Green)),
            ("refactor: x", Some(Cycle::Refactor)),
            ("docs: x", None),
            ("testing: x", None),
            ("Merge branch 'test: x'", None),
            ("no prefix", None),
            ("", None),
        ] {
            assert_eq!(parse_commit_step(subject, &prefixes), step, "{subject}");
        }
    }

    #[test]
    fn a_cycle_goes_red_green_refactor() {
        let (red, green) = (Some(Cycle::Red), Some(Cycle::Green));
        for (before, step, expected) in [
            (None, Cycle::Red, Advance::To(red)),
            (red, Cycle::Refactor, Advance::To(red)),
            (red, Cycle::Green, Advance::To(green)),
            (green, Cycle::Refactor, Advance::Done),
            (green, Cycle::Red, Advance::DoneBefore),
            (None, Cycle::Refactor, Advance::To(None)),
        ] {
            assert_eq!(advance_cycle(before, step), expected, "{before:?} {step:?}");
        }
    }

    #[test]
    fn the_next_commit_is_named() {
        let prefixes = CommitPrefixes::default();
        assert_eq!(
            expected_commit_subject(None, "threshold", &prefixes),
            "test: threshold (RED)"
        );
        assert_eq!(
            expected_commit_subject(Some(Cycle::Red), "threshold", &prefixes),
            "feat: threshold (GREEN)"
        );
    }
}
