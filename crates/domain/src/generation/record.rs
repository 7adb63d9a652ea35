//! What is kept of a scene that is being written. Every step is kept, so that any process can go on.

use serde::{Deserialize, Serialize};

use super::verdict::Verdict;
use crate::ids::{CanonicalHash, NodeId};
use crate::record::Recorded;
use crate::time::Timestamp;

/// How a generation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GenerationStatus {
    Running,
    /// A step failed; it can be resumed.
    Failed,
    /// It is written, but something must be decided by a person.
    Held,
    Cancelled,
    Complete,
}

impl GenerationStatus {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Failed => "failed",
            Self::Held => "held",
            Self::Cancelled => "cancelled",
            Self::Complete => "complete",
        }
    }
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    Write,
    /// The text broke off: bring it to an end.
    Conclude,
    Judge,
    Revise,
    /// Put it where it belongs, and into the memory.
    Commit,
}

impl Step {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Conclude => "conclude",
            Self::Judge => "judge",
            Self::Revise => "revise",
            Self::Commit => "commit",
        }
    }
}

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Could,
    Should,
    Must,
}

/// Something that is wrong with a text, with the words that show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// `length`, `ending`, `repetition`, `ids`, `coverage`, `continuity`, `pov` …
    pub check: String,
    pub severity: Severity,
    pub problem: String,
    /// The text's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// What they stand against: words of the blueprint, or a fact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
}

/// A scene that is being written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generation {
    pub node: NodeId,
    /// The node's path.
    pub scene: String,
    pub status: GenerationStatus,
    pub step: Step,
    /// The blueprint it is written from.
    pub blueprint: CanonicalHash,
    pub writer: String,
    pub draft: String,
    pub conclusions: u32,
    pub revisions: u32,
    pub findings: Vec<Finding>,
    /// What the judge said of the present draft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// The draft before the last revision, with what was found in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_revision: Option<(String, Vec<Finding>)>,
    pub failures: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub started: Timestamp,
    pub updated: Timestamp,
}

impl Recorded for Generation {
    const KIND: &'static str = "generation";
}

impl Generation {
    /// Returns the key of a node's generation.
    #[must_use]
    pub fn key(node: NodeId) -> String {
        format!("{:08}", node.0)
    }

    /// Says whether something can go on.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(
            self.status,
            GenerationStatus::Running | GenerationStatus::Failed | GenerationStatus::Held
        )
    }
}
