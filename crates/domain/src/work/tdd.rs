//! The test-driven cycle of a scenario, read from its commits: red, green, refactor.

use serde::{Deserialize, Serialize};

use crate::record::Recorded;

/// Which commit subjects mean what; the words before the colon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CommitPrefixes {
    pub red: Vec<String>,
    pub green: Vec<String>,
    pub refactor: Vec<String>,
}

impl Default for CommitPrefixes {
    fn default() -> Self {
        let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect();
        Self {
            red: words(&["test"]),
            green: words(&["feat", "fix"]),
            refactor: words(&["refactor"]),
        }
    }
}

/// A step of the cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cycle {
    /// A failing test is committed.
    Red,
    /// It passes.
    Green,
    /// It is cleaned up: the scenario is done.
    Refactor,
}

impl Cycle {
    /// Returns the word people see.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Red => "red",
            Self::Green => "green",
            Self::Refactor => "refactor",
        }
    }
}

/// How far a scenario's cycle is. A record, by the scenario's node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tdd {
    /// What was committed last; `None` before the first test.
    pub cycle: Option<Cycle>,
    /// The last commit of the cycle, as it was typed: `test: threshold detection`.
    pub last_commit: Option<String>,
    pub last_hash: Option<String>,
    /// The step before the last commit, for a commit that is amended.
    pub before: Option<Cycle>,
    /// Lines that were committed for this scenario.
    pub lines: u64,
}

impl Recorded for Tdd {
    const KIND: &'static str = "tdd";
}

/// What a commit means for the cycle of the present scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advance {
    /// The commit has nothing to do with it.
    None,
    To(Tdd),
    /// The scenario is done with this commit.
    Done(Tdd),
    /// The commit is the first test of the next scenario: this one is done as it is.
    DoneBefore,
}

/// Returns the step a commit's subject stands for: `feat(gates): …`, `fix!: …`.
#[must_use]
pub fn step_of(subject: &str, prefixes: &CommitPrefixes) -> Option<Cycle> {
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

/// A commit as the cycle sees it.
#[derive(Clone, Copy, Debug)]
pub struct Commit<'c> {
    pub hash: &'c str,
    pub subject: &'c str,
    /// It replaces the commit before it.
    pub amends: Option<&'c str>,
    pub lines: u64,
}

/// Returns what a commit means.
#[must_use]
pub fn advance(tdd: &Tdd, commit: &Commit<'_>, prefixes: &CommitPrefixes) -> Advance {
    let Some(step) = step_of(commit.subject, prefixes) else {
        return Advance::None;
    };
    let amends = commit.amends.is_some() && commit.amends == tdd.last_hash.as_deref();
    let before = if amends { tdd.before } else { tdd.cycle };
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
        // Cleaning up before anything is green finishes nothing.
        Cycle::Refactor if before == Some(Cycle::Green) => Advance::Done(after),
        Cycle::Refactor => Advance::To(Tdd {
            cycle: before,
            ..after
        }),
        Cycle::Red | Cycle::Green => Advance::To(after),
    }
}

/// Returns the commit that is expected next.
#[must_use]
pub fn expected(cycle: Option<Cycle>, about: &str, prefixes: &CommitPrefixes) -> String {
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
    use super::{Advance, Commit, CommitPrefixes, Cycle, Tdd, advance, expected, step_of};

    fn commit<'c>(hash: &'c str, subject: &'c str, amends: Option<&'c str>) -> Commit<'c> {
        Commit {
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
            assert_eq!(step_of(subject, &prefixes), step, "{subject}");
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
            if let Advance::To(next) = advance(&tdd, &commit("h", subject, None), &prefixes) {
                tdd = next;
            }
            assert_eq!(tdd.cycle, cycle, "{subject}");
        }
        assert_eq!(tdd.lines, 30);
        assert!(matches!(
            advance(&tdd, &commit("h", "refactor: a", None), &prefixes),
            Advance::Done(_)
        ));
        assert_eq!(
            advance(&tdd, &commit("h", "test: b", None), &prefixes),
            Advance::DoneBefore
        );
    }

    #[test]
    fn an_amended_commit_takes_the_place_of_the_first() {
        let prefixes = CommitPrefixes::default();
        let Advance::To(red) = advance(&Tdd::default(), &commit("1", "test: a", None), &prefixes)
        else {
            panic!("red")
        };
        let Advance::To(green) = advance(&red, &commit("2", "feat: a", None), &prefixes) else {
            panic!("green")
        };
        // `feat:` was a slip: it was still the test.
        let Advance::To(again) = advance(&green, &commit("3", "test: a", Some("2")), &prefixes)
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
            expected(None, "threshold", &prefixes),
            "test: threshold (RED)"
        );
        assert_eq!(
            expected(Some(Cycle::Red), "threshold", &prefixes),
            "feat: threshold (GREEN)"
        );
    }
}
