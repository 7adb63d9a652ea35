//! TDD cycle of a scenario (red, green, refactor), derived from commit subjects.
//!
//! It trusts the subject line: tests are run by evidence, not here.

use serde::{Deserialize, Serialize};

pub use crate::policy::CommitPrefixes;
use crate::record::Recorded;

/// A step of the TDD cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cycle {
    /// A failing test is committed.
    Red,
    /// The test passes.
    Green,
    /// The code is cleaned up, and the scenario is done.
    Refactor,
}

impl Cycle {
    /// Returns the word people see.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Red => "red",
            Self::Green => "green",
            Self::Refactor => "refactor",
        }
    }
}

/// Progress of a scenario's cycle. A record, keyed by the scenario's node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tdd {
    /// The last committed step; `None` before the first test.
    pub cycle: Option<Cycle>,
    /// Subject of the last commit of the cycle: `test: threshold detection`.
    pub last_commit: Option<String>,
    pub last_hash: Option<String>,
    /// The step before the last commit, for a commit that is amended.
    pub before: Option<Cycle>,
    /// Number of lines committed for this scenario.
    pub lines: u64,
}

impl Recorded for Tdd {
    const KIND: &'static str = "tdd";
}

/// What a commit means for the cycle of the current scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advance {
    /// The commit is not part of a cycle.
    None,
    To(Tdd),
    /// This commit completes the scenario.
    Done(Tdd),
    /// The commit is the first test of the next scenario, so this one was already complete.
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

/// The parts of a commit that the cycle depends on.
#[derive(Clone, Copy, Debug)]
pub struct CycleCommit<'c> {
    pub hash: &'c str,
    pub subject: &'c str,
    /// Hash of the commit it replaces (`git commit --amend`).
    pub amends: Option<&'c str>,
    pub lines: u64,
}

/// Returns what a commit means for the cycle.
#[must_use]
pub fn advance_cycle(tdd: &Tdd, commit: &CycleCommit<'_>, prefixes: &CommitPrefixes) -> Advance {
    let Some(step) = parse_commit_step(commit.subject, prefixes) else {
        return Advance::None;
    };
    let amends = commit.amends.is_some() && commit.amends == tdd.last_hash.as_deref();
    // An amended commit replaces its step instead of following it. Without this, correcting the
    // subject of a `test:` commit would look like a second test.
    let before = if amends { tdd.before } else { tdd.cycle };
    // Refactoring is optional: many scenarios need none, and the next test says that this one is
    // over.
    if step == Cycle::Red && before == Some(Cycle::Green) {
        return Advance::DoneBefore;
    }
    let after = Tdd {
        cycle: Some(step),
        last_commit: Some(commit.subject.to_owned()),
        last_hash: Some(commit.hash.to_owned()),
        before,
        lines: tdd.lines.saturating_add(commit.lines),
    };
    match step {
        // A refactoring while the test still fails completes nothing and keeps the step.
        Cycle::Refactor if before == Some(Cycle::Green) => Advance::Done(after),
        Cycle::Refactor => Advance::To(Tdd {
            cycle: before,
            ..after
        }),
        Cycle::Red | Cycle::Green => Advance::To(after),
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
        Advance, CommitPrefixes, Cycle, CycleCommit, Tdd, advance_cycle, expected_commit_subject,
        parse_commit_step,
    };

    fn commit<'c>(hash: &'c str, subject: &'c str, amends: Option<&'c str>) -> CycleCommit<'c> {
        CycleCommit {
            hash,
            subject,
            amends,
            lines: 10,
        }
    }

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
        let prefixes = CommitPrefixes::default();
        let mut tdd = Tdd::default();
        for (subject, cycle) in [
            ("docs: x", None),
            ("test: a", Some(Cycle::Red)),
            ("refactor: early", Some(Cycle::Red)),
            ("feat: a", Some(Cycle::Green)),
        ] {
            if let Advance::To(next) = advance_cycle(&tdd, &commit("h", subject, None), &prefixes) {
                tdd = next;
            }
            assert_eq!(tdd.cycle, cycle, "{subject}");
        }
        assert_eq!(tdd.lines, 30);
        assert!(matches!(
            advance_cycle(&tdd, &commit("h", "refactor: a", None), &prefixes),
            Advance::Done(_)
        ));
        assert_eq!(
            advance_cycle(&tdd, &commit("h", "test: b", None), &prefixes),
            Advance::DoneBefore
        );
    }

    #[test]
    fn an_amended_commit_takes_the_place_of_the_first() {
        let prefixes = CommitPrefixes::default();
        let Advance::To(red) =
            advance_cycle(&Tdd::default(), &commit("1", "test: a", None), &prefixes)
        else {
            panic!("red")
        };
        let Advance::To(green) = advance_cycle(&red, &commit("2", "feat: a", None), &prefixes)
        else {
            panic!("green")
        };
        // The subject `feat:` was a mistake: the commit is still the test.
        let Advance::To(again) =
            advance_cycle(&green, &commit("3", "test: a", Some("2")), &prefixes)
        else {
            panic!("red")
        };
        assert_eq!(
            (again.cycle, again.before),
            (Some(Cycle::Red), Some(Cycle::Red))
        );
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
