//! Record of a scene that is being generated. Every step is stored, so that any process can resume
//! it.

use serde::{Deserialize, Serialize};

use super::verdict::SceneVerdict;
use crate::ids::{CanonicalHash, NodeId};
use crate::named_enum::named_enum;
use crate::record::Recorded;
use crate::time::Timestamp;

named_enum! {
    /// Status of a generation.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum GenerationStatus {
        Running = "running",
        /// A step failed; it can be resumed.
        Failed = "failed",
        /// The scene is written, but a person has to decide something.
        Held = "held",
        Cancelled = "cancelled",
        Complete = "complete",
    }
}

named_enum! {
    /// The next step of a generation.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum GenerationStep {
        Write = "write",
        /// Complete a text that broke off.
        Conclude = "conclude",
        Judge = "judge",
        Revise = "revise",
        /// Write the scene to its file and update the memory.
        Commit = "commit",
    }
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingSeverity {
    // From light to heavy, because findings are sorted by it.
    Could,
    Should,
    Must,
}

/// A problem in a text, with the quote that shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SceneFinding {
    /// `length`, `ending`, `repetition`, `ids`, `refusal`, `degenerate`, `cast`, `coverage`, `continuity`,
    /// `pov` …
    pub check: String,
    pub severity: FindingSeverity,
    pub problem: String,
    /// Quote of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// What the quote contradicts: words of the blueprint, or a fact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
}

/// A scene that is being generated. A record, keyed by node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generation {
    pub node: NodeId,
    /// The node's path.
    pub scene: String,
    pub status: GenerationStatus,
    pub step: GenerationStep,
    /// The blueprint it is written from.
    pub blueprint: CanonicalHash,
    pub writer: String,
    pub draft: String,
    pub conclusions: u32,
    pub revisions: u32,
    pub findings: Vec<SceneFinding>,
    /// The judge's verdict on the current draft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<SceneVerdict>,
    /// The draft before the last revision and its findings, to revert a revision that made it
    /// worse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_revision: Option<(String, Vec<SceneFinding>)>,
    /// The verdict on that draft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict_before_revision: Option<SceneVerdict>,
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
    /// Returns the record key of a node's generation.
    #[must_use]
    pub fn record_key(node: NodeId) -> String {
        // Zero-padded, so that the keys sort like the node numbers.
        format!("{:08}", node.0)
    }

    /// Whether it can be continued.
    #[must_use]
    pub fn is_open(&self) -> bool {
        // `Held` is open: a person can still resume or cancel it.
        matches!(
            self.status,
            GenerationStatus::Running | GenerationStatus::Failed | GenerationStatus::Held
        )
    }
}
