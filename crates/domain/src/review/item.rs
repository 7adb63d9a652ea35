//! Review items: one check with its verdict, finding and resolution.

use serde::{Deserialize, Serialize};

use super::severity::CheckSeverity;
use crate::ids::Principal;
use crate::named_enum::named_enum;
use crate::time::Timestamp;

/// One check of a review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewItem {
    /// `qa-001`.
    pub id: String,
    pub version: u64,
    /// Scope of the check: `*`, a milestone, a file …
    pub scope: String,
    pub check: String,
    pub severity: CheckSeverity,
    pub status: ItemStatus,
    /// Finding of the last failure.
    #[serde(default)]
    pub finding: Option<String>,
    /// Number of iterations in which it failed.
    #[serde(default)]
    pub fail_count: u32,
    /// The iteration it was last judged in.
    #[serde(default)]
    pub judged_in: u32,
    /// Decision about a finding that was not fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
}

impl ReviewItem {
    /// Whether it failed and is not resolved.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.status == ItemStatus::Fail && self.resolution.is_none()
    }

    /// Whether it waits for a person's decision.
    #[must_use]
    pub fn is_escalated(&self) -> bool {
        self.status == ItemStatus::Fail
            && self
                .resolution
                .as_ref()
                .is_some_and(|resolution| resolution.kind == ResolutionKind::Escalated)
    }
}

named_enum! {
    /// Verdict on a check.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum ItemStatus {
        Todo = "TODO",
        Pass = "PASS",
        Fail = "FAIL",
    }
}

/// Decision about a finding.
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
    /// A person has to decide.
    Escalated,
    /// The finding is known and will not be fixed.
    Accepted,
}
