//! The verdict of a review as a decision: how an iteration was concluded, or a finding that a person
//! accepted.
//!
//! A record of who concluded what. It completes no review in another clone; the checks and the
//! judgements of single ones stay in the store they were made in.

use serde::{Deserialize, Serialize};

use crate::named_enum::named_enum;
use crate::review::{IterationOutcome, Review, ReviewItem};

named_enum! {
    /// How a review was decided.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum ReviewOutcome {
        /// Nothing blocks.
        Passed = "passed",
        /// Findings go back to the author.
        Failed = "failed",
        /// A person has to decide about findings.
        NeedsPerson = "needs-person",
        /// A person accepted one finding as it is.
        Accepted = "accepted",
    }
}

/// The verdict of a review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewVerdict {
    /// Name of what was reviewed.
    pub subject: String,
    /// The iteration it was given in.
    pub iteration: u32,
    pub outcome: ReviewOutcome,
    /// The findings it is about: those that block, wait for a person, or were accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
}

impl ReviewVerdict {
    /// Returns the verdict of a concluded iteration; `review` is the review after it.
    #[must_use]
    pub fn from_conclusion(review: &Review, iteration: u32, concluded: &IterationOutcome) -> Self {
        let (outcome, ids) = match concluded {
            IterationOutcome::Complete { accepted } => (ReviewOutcome::Passed, accepted),
            IterationOutcome::Retry { blocking, .. } => (ReviewOutcome::Failed, blocking),
            IterationOutcome::NeedsPerson { escalated } => (ReviewOutcome::NeedsPerson, escalated),
        };
        Self::from_items(review, iteration, outcome, ids)
    }

    /// Returns the verdict that accepts one finding; `review` is the review after it.
    #[must_use]
    pub fn from_acceptance(review: &Review, item: &str) -> Self {
        let ids = [item.to_owned()];
        Self::from_items(review, review.iteration, ReviewOutcome::Accepted, &ids)
    }

    fn from_items(review: &Review, iteration: u32, outcome: ReviewOutcome, ids: &[String]) -> Self {
        Self {
            subject: review.subject.clone(),
            iteration,
            outcome,
            // In words, not ids: the items of a review are only in the store that ran it.
            findings: ids
                .iter()
                .filter_map(|id| review.find_item(id))
                .map(describe_finding)
                .collect(),
        }
    }

    /// Whether it ends an older verdict.
    ///
    /// A conclusion ends the one before it. What a person accepted holds until the review passes,
    /// which names every accepted finding.
    #[must_use]
    pub fn supersedes_verdict(&self, older: &Self) -> bool {
        self.subject == older.subject
            && match (self.outcome, older.outcome) {
                (ReviewOutcome::Accepted, _) => false,
                (ReviewOutcome::Passed, _) => true,
                (_, older) => older != ReviewOutcome::Accepted,
            }
    }

    /// Returns one line without the author: `the review of act-1 passed, concluded`.
    #[must_use]
    pub fn describe_briefly(&self) -> String {
        let subject = &self.subject;
        match self.outcome {
            ReviewOutcome::Passed => format!("the review of {subject} passed, concluded"),
            ReviewOutcome::Failed => format!("the review of {subject} failed, concluded"),
            ReviewOutcome::NeedsPerson => {
                format!("the review of {subject} waits for a person, concluded")
            }
            ReviewOutcome::Accepted => {
                format!("acceptance of a finding in the review of {subject}")
            }
        }
    }
}

/// Returns a finding with its check, and with the reason if it was accepted.
fn describe_finding(item: &ReviewItem) -> String {
    let found = item.finding.as_deref().unwrap_or(&item.check);
    match &item.resolution {
        Some(resolution) => format!(
            "{} ({}): {found}; {}: {}",
            item.id, item.severity, resolution.by, resolution.reason
        ),
        None => format!("{} ({}): {found}", item.id, item.severity),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(subject: &str, outcome: ReviewOutcome) -> ReviewVerdict {
        ReviewVerdict {
            subject: subject.to_owned(),
            iteration: 1,
            outcome,
            findings: Vec::new(),
        }
    }

    #[test]
    fn a_conclusion_ends_the_one_before_and_only_a_pass_ends_an_acceptance() {
        use ReviewOutcome::{Accepted, Failed, NeedsPerson, Passed};
        for (new, old, ends) in [
            (Failed, Failed, true),
            (NeedsPerson, Passed, true),
            (Passed, NeedsPerson, true),
            (Passed, Accepted, true),
            (Failed, Accepted, false),
            (NeedsPerson, Accepted, false),
            (Accepted, NeedsPerson, false),
            (Accepted, Accepted, false),
        ] {
            let (new, old) = (verdict("act-1", new), verdict("act-1", old));
            assert_eq!(new.supersedes_verdict(&old), ends, "{new:?} {old:?}");
            let other = verdict("act-2", old.outcome);
            assert!(!new.supersedes_verdict(&other), "{new:?} {other:?}");
        }
    }
}
