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
        /// Choose one of the variants.
        Choose = "choose",
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

/// The check of findings that are comments of the author.
pub const COMMENT_CHECK: &str = "comment";

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

/// Counts findings by severity, the heaviest first: no number of lighter ones outweighs a heavier one.
#[must_use]
pub fn count_findings(findings: &[SceneFinding]) -> [usize; 3] {
    let count = |severity| findings.iter().filter(|it| it.severity == severity).count();
    [
        count(FindingSeverity::Must),
        count(FindingSeverity::Should),
        count(FindingSeverity::Could),
    ]
}

/// A judged draft among several, for the author to choose from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SceneVariant {
    pub draft: String,
    pub writer: String,
    pub findings: Vec<SceneFinding>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<SceneVerdict>,
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
    /// A person kept it as it is, with its findings.
    #[serde(default)]
    pub is_accepted: bool,
    /// Target number of words, where it is not the policy's: that of the text that is revised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<usize>,
    /// Number of drafts to choose from; 0 if a single one is written.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub variant_count: u32,
    /// The drafts to choose from, so far.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<SceneVariant>,
    /// Number of the chosen variant, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<usize>,
    pub failures: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub started: Timestamp,
    pub updated: Timestamp,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
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

    /// Returns a generation that begins with a draft to write.
    #[must_use]
    pub fn begin_writing(
        node: NodeId,
        scene: String,
        blueprint: CanonicalHash,
        at: Timestamp,
    ) -> Self {
        Self {
            node,
            scene,
            status: GenerationStatus::Running,
            step: GenerationStep::Write,
            blueprint,
            writer: String::new(),
            draft: String::new(),
            conclusions: 0,
            revisions: 0,
            findings: Vec::new(),
            verdict: None,
            before_revision: None,
            verdict_before_revision: None,
            is_accepted: false,
            words: None,
            variant_count: 0,
            variants: Vec::new(),
            chosen: None,
            failures: 0,
            error: None,
            started: at,
            updated: at,
        }
    }

    /// Whether drafts are collected that nobody has chosen from yet.
    #[must_use]
    pub fn collects_variants(&self) -> bool {
        self.variant_count > 1 && self.chosen.is_none()
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
