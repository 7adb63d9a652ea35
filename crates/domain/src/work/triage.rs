//! Triage of tickets as their front matter states it: priority, due date, and whether a ticket is
//! dropped or deferred.
//!
//! Ticket files come from other tools and are written by hand, so the vocabulary is wide. An unknown
//! word means nothing: the ticket is then of normal priority and open, and its author is told.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::phase_order::parse_phase;
use super::work_level::WorkLevel;
use crate::named_enum::named_enum;
use crate::node::{Node, Progress, WorkKeys};
use crate::profile::WorkPhase;
use crate::time::Timestamp;

named_enum! {
    /// How urgent a ticket is, the most urgent first.
    #[derive(
        Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
    )]
    pub enum Priority {
        Urgent = "urgent",
        High = "high",
        #[default]
        Normal = "normal",
        Low = "low",
    }
}

impl Priority {
    /// Parses a priority: a word (`high`, `critical`) or a number, 0 or `P0` being the most urgent.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match normalise(word).as_str() {
            "0" | "p0" | "urgent" | "critical" | "blocker" | "highest" | "immediate" => {
                Self::Urgent
            }
            "1" | "p1" | "high" | "major" => Self::High,
            "2" | "p2" | "normal" | "medium" | "moderate" | "default" => Self::Normal,
            "3" | "4" | "p3" | "p4" | "low" | "minor" | "lowest" | "trivial" => Self::Low,
            _ => return None,
        })
    }
}

named_enum! {
    /// Why an open ticket is not to be worked on now.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum Disposition {
        /// It will not be done: `cancelled`, `wontfix`. It holds up nothing.
        Dropped = "dropped",
        /// Not now: `deferred`, `later`. It stays open, and what needs it waits.
        Deferred = "deferred",
    }
}

impl Disposition {
    /// Parses the `status` of a ticket file.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match normalise(word).as_str() {
            "cancelled" | "canceled" | "dropped" | "abandoned" | "wontfix" | "wont-fix"
            | "won't-fix" | "wont-do" | "won't-do" | "rejected" | "obsolete" => Self::Dropped,
            "deferred" | "postponed" | "later" | "icebox" | "someday" => Self::Deferred,
            _ => return None,
        })
    }
}

/// Returns a word without the differences between spellings: case, and what joins its parts.
pub(super) fn normalise(word: &str) -> String {
    word.trim().to_lowercase().replace(['_', ' '], "-")
}

/// A word of a ticket's front matter that means nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWord {
    pub key: &'static str,
    pub word: String,
    /// The words that mean something, as a list for people.
    pub allowed: String,
}

impl UnknownWord {
    /// Describes it for the author of a ticket.
    #[must_use]
    pub fn describe(&self, node: &str) -> String {
        let Self { key, word, allowed } = self;
        format!("`{key}: {word}` of `{node}` is not known and is ignored; known: {allowed}")
    }
}

impl WorkKeys {
    /// Returns the priority stated in the file.
    #[must_use]
    pub fn stated_priority(&self) -> Priority {
        let word = self.priority.as_deref();
        word.and_then(Priority::from_word).unwrap_or_default()
    }

    /// Returns the words that are not known.
    #[must_use]
    pub fn unknown_words(&self, phases: &[WorkPhase]) -> Vec<UnknownWord> {
        let mut unknown = Vec::new();
        let mut check = |key, word: &Option<String>, is_known: &dyn Fn(&str) -> bool, allowed| {
            if let Some(word) = word.as_ref().filter(|word| !is_known(word)) {
                unknown.push(UnknownWord {
                    key,
                    word: word.clone(),
                    allowed,
                });
            }
        };
        let names: Vec<&str> = phases.iter().map(|phase| phase.name.as_str()).collect();
        let is_phase = |word: &str| parse_phase(phases, word).is_some();
        check("phase", &self.phase, &is_phase, names.join(", "));
        let is_status = |word: &str| {
            Progress::from_synonym(word).is_some() || Disposition::from_word(word).is_some()
        };
        let statuses = "ready, active, blocked, done, cancelled, deferred".to_owned();
        check("status", &self.status, &is_status, statuses);
        let is_level = |word: &str| WorkLevel::from_word(word).is_some();
        let levels = WorkLevel::ALL.map(WorkLevel::as_str).join(", ");
        check("work_level", &self.work_level, &is_level, levels);
        let is_priority = |word: &str| Priority::from_word(word).is_some();
        let priorities = Priority::ALL.map(Priority::as_str).join(", ");
        check("priority", &self.priority, &is_priority, priorities);
        let is_day = |_: &str| self.due_day().is_some();
        check(
            "due",
            &self.due,
            &is_day,
            "a day such as 2026-12-01".to_owned(),
        );
        unknown
    }

    /// Returns the day the work is due, as `YYYY-MM-DD`.
    #[must_use]
    pub fn due_day(&self) -> Option<&str> {
        // A time behind the date is ignored; tools write both.
        let day = self.due.as_deref()?.get(..10)?;
        day.parse::<jiff::civil::Date>().ok().map(|_| day)
    }
}

impl Node {
    /// Returns whether the node is dropped or deferred.
    #[must_use]
    pub fn disposition(&self) -> Option<Disposition> {
        Disposition::from_word(self.description.work.as_ref()?.status.as_deref()?)
    }

    /// Whether the node will not be done.
    #[must_use]
    pub fn is_dropped(&self) -> bool {
        self.disposition() == Some(Disposition::Dropped)
    }

    /// Returns the stated priority; nodes without one are of normal priority.
    #[must_use]
    pub fn priority(&self) -> Priority {
        let work = self.description.work.as_ref();
        work.map(|work| work.stated_priority()).unwrap_or_default()
    }

    /// Returns the day the node is due, as `YYYY-MM-DD`.
    #[must_use]
    pub fn due_day(&self) -> Option<&str> {
        self.description.work.as_ref()?.due_day()
    }
}

/// Whether a day (`YYYY-MM-DD`) is over.
#[must_use]
pub fn is_overdue(day: &str, now: Timestamp) -> bool {
    let today = now.local_minute();
    let today = format!("{:04}-{:02}-{:02}", today.year, today.month, today.day);
    // ISO dates sort as text.
    *day < *today
}

#[cfg(test)]
mod tests {
    use super::{Disposition, Priority, is_overdue};
    use crate::node::WorkKeys;
    use crate::profile::built_in_profile;
    use crate::time::Timestamp;

    #[test]
    fn priorities_of_other_tools_are_understood() {
        for (word, expected) in [
            ("high", Some(Priority::High)),
            ("P0", Some(Priority::Urgent)),
            ("Critical", Some(Priority::Urgent)),
            ("2", Some(Priority::Normal)),
            ("p4", Some(Priority::Low)),
            ("soonish", None),
        ] {
            assert_eq!(Priority::from_word(word), expected, "{word}");
        }
        assert!(Priority::Urgent < Priority::High && Priority::Normal < Priority::Low);
    }

    #[test]
    fn dropped_and_deferred_are_told_from_open() {
        for (word, expected) in [
            ("cancelled", Some(Disposition::Dropped)),
            ("Won't fix", Some(Disposition::Dropped)),
            ("wontfix", Some(Disposition::Dropped)),
            ("deferred", Some(Disposition::Deferred)),
            ("ready", None),
            ("done", None),
        ] {
            assert_eq!(Disposition::from_word(word), expected, "{word}");
        }
    }

    #[test]
    fn words_that_mean_nothing_are_found() {
        let phases = built_in_profile("tickets").unwrap().work_phases;
        let keys = |phase: &str, status: &str, due: &str| WorkKeys {
            phase: Some(phase.to_owned()),
            status: Some(status.to_owned()),
            due: Some(due.to_owned()),
            priority: Some("soonish".to_owned()),
            ..WorkKeys::default()
        };
        let unknown = |keys: WorkKeys| {
            let words = keys.unknown_words(&phases).into_iter();
            words.map(|word| word.key).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            unknown(keys("implement", "wontfix", "2026-12-01")),
            "priority"
        );
        assert_eq!(
            unknown(keys("nonsense", "weird", "soon")),
            "phase status priority due"
        );
        assert_eq!(unknown(WorkKeys::default()), "");
        let level = WorkKeys {
            work_level: Some("huge".to_owned()),
            ..WorkKeys::default()
        };
        assert_eq!(
            level.unknown_words(&phases)[0].describe("001"),
            "`work_level: huge` of `001` is not known and is ignored; known: patch, task, feature"
        );
    }

    #[test]
    fn a_due_day_is_a_date_and_may_have_a_time() {
        let due = |text: &str| WorkKeys {
            due: Some(text.to_owned()),
            ..WorkKeys::default()
        };
        assert_eq!(due("2026-12-01").due_day(), Some("2026-12-01"));
        assert_eq!(due("2026-12-01T09:00Z").due_day(), Some("2026-12-01"));
        assert_eq!(due("2026-13-01").due_day(), None);
        assert_eq!(due("soon").due_day(), None);
        let now = Timestamp::from_millis(1_796_000_000_000);
        assert!(is_overdue("2026-01-01", now) && !is_overdue("2030-01-01", now));
    }
}
