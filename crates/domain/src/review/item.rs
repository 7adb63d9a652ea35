//! One check of a review: what is looked at, what was found, what became of it.

use serde::{Deserialize, Serialize};

use super::severity::Severity;
use crate::ids::Principal;
use crate::time::Timestamp;

/// A check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// `qa-001`.
    pub id: String,
    pub version: u64,
    /// What it is about: `*`, a milestone, a file …
    pub scope: String,
    pub check: String,
    pub severity: Severity,
    pub status: ItemStatus,
    /// What was found, when it failed last.
    #[serde(default)]
    pub finding: Option<String>,
    /// In how many iterations it failed.
    #[serde(default)]
    pub fail_count: u32,
    /// The iteration it was last judged in.
    #[serde(default)]
    pub judged_in: u32,
    /// What became of a finding that was not mended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
}

impl Item {
    /// Says whether it failed and nothing was decided about it.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.status == ItemStatus::Fail && self.resolution.is_none()
    }

    /// Says whether a person has to decide about it.
    #[must_use]
    pub fn is_escalated(&self) -> bool {
        self.status == ItemStatus::Fail
            && self
                .resolution
                .as_ref()
                .is_some_and(|resolution| resolution.kind == ResolutionKind::Escalated)
    }
}

/// A check's verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ItemStatus {
    Todo,
    Pass,
    Fail,
}

impl ItemStatus {
    /// Returns the word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Todo => "TODO",
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
        }
    }
}

/// What was decided about a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolution {
    pub kind: ResolutionKind,
    pub reason: String,
    pub by: Principal,
    pub at: Timestamp,
    pub iteration: u32,
}

/// The kinds of [`Resolution`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResolutionKind {
    /// It waits for a person.
    Escalated,
    /// It is known and stays as it is.
    Accepted,
}
