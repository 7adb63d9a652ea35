//! Types of `plan.json`. They are also its JSON Schema: `tl doc schema` is generated from them.
//!
//! Every type denies unknown fields. A misspelt optional field would otherwise vanish with the next
//! write of the file, without a message.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::time::Timestamp;

/// Schema version that is read and written.
pub const SCHEMA_VERSION: u32 = 2;

// `version` may be missing in plans written by hand; `u64::default()` would be 0, which no command
// ever assigns.
fn one() -> u64 {
    1
}

/// A plan: why, what, in which order, and what must be true at the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Always 2.
    #[schemars(range(min = 2, max = 2))]
    pub schema_version: u32,
    /// A UUID, assigned at creation.
    pub plan_id: String,
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub created_at: Timestamp,
    /// Time of the freeze; the plan is immutable from then on.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub frozen_at: Option<Timestamp>,
    /// The frozen plan this one revises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revises: Option<Revises>,
    pub overview: Overview,
    #[serde(default)]
    pub planning_context: PlanningContext,
    #[serde(default)]
    pub invisible_knowledge: InvisibleKnowledge,
    #[serde(default)]
    pub milestones: Vec<Milestone>,
    #[serde(default)]
    pub milestone_dependencies: MilestoneDependencies,
}

/// Reference to the frozen plan that is revised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Revises {
    /// The name of its folder.
    pub document: String,
    pub plan_id: String,
    /// SHA-256 of its frozen `plan.json`.
    pub version_hash: String,
}

/// Subject of the plan: title, problem and approach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Overview {
    #[serde(default = "one")]
    pub version: u64,
    pub title: String,
    #[serde(default)]
    pub problem: String,
    #[serde(default)]
    pub approach: String,
}

/// Decisions, rejected alternatives, constraints and risks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PlanningContext {
    pub decision_log: Vec<Decision>,
    pub rejected_alternatives: Vec<RejectedAlternative>,
    pub constraints: Vec<Constraint>,
    pub known_risks: Vec<Risk>,
}

/// A decision with the reasoning that led to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    #[schemars(regex(pattern = r"^DL-[0-9]{3,}$"))]
    pub id: String,
    #[serde(default = "one")]
    pub version: u64,
    pub decision: String,
    pub reasoning_chain: String,
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub timestamp: Timestamp,
}

/// An alternative that was considered and rejected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RejectedAlternative {
    #[schemars(regex(pattern = r"^RA-[0-9]{3,}$"))]
    pub id: String,
    #[serde(default = "one")]
    pub version: u64,
    pub alternative: String,
    pub rejection_reason: String,
    /// The decision that was taken instead.
    pub decision_ref: String,
}

/// A constraint the plan has to satisfy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Constraint {
    #[schemars(regex(pattern = r"^C-[0-9]{3,}$"))]
    pub id: String,
    #[serde(default = "one")]
    pub version: u64,
    /// Kind of constraint: technical, organisational, MUST, SHOULD …
    #[serde(rename = "type")]
    pub kind: String,
    pub description: String,
    /// Person or document that requires it.
    #[serde(default)]
    pub source: String,
}

/// A known risk and its mitigation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Risk {
    #[schemars(regex(pattern = r"^R-[0-9]{3,}$"))]
    pub id: String,
    #[serde(default = "one")]
    pub version: u64,
    pub risk: String,
    pub mitigation: String,
    /// Place in the code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision_ref: Option<String>,
}

/// Design knowledge that cannot be read from the code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InvisibleKnowledge {
    pub version: u64,
    pub architecture: Architecture,
    pub data_flow: Architecture,
    pub structure_rationale: String,
    pub invariants: Vec<String>,
    pub tradeoffs: Vec<String>,
}

impl Default for InvisibleKnowledge {
    fn default() -> Self {
        Self {
            version: 1,
            architecture: Architecture::default(),
            data_flow: Architecture::default(),
            structure_rationale: String::new(),
            invariants: Vec::new(),
            tradeoffs: Vec::new(),
        }
    }
}

/// An ASCII diagram with its description.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Architecture {
    pub diagram_ascii: String,
    pub description: String,
}

/// A part of the plan that can be built and verified by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Milestone {
    #[schemars(regex(pattern = r"^M-[0-9]{3,}$"))]
    pub id: String,
    #[serde(default = "one")]
    pub version: u64,
    pub number: u32,
    pub name: String,
    /// Files it touches, relative to the project.
    #[serde(default)]
    pub files: Vec<String>,
    #[serde(default)]
    pub flags: Vec<String>,
    #[serde(default)]
    pub requirements: Vec<String>,
    #[serde(default)]
    pub acceptance_criteria: Vec<String>,
    /// Milestones that must be complete first; the waves follow from these.
    #[serde(default)]
    pub depends_on: Vec<String>,
    #[serde(default)]
    pub tests: TestPlan,
    #[serde(default)]
    pub code_intents: Vec<CodeIntent>,
    #[serde(default)]
    pub code_changes: Vec<CodeChange>,
    #[serde(default)]
    pub documentation: Documentation,
    #[serde(default)]
    pub is_documentation_only: bool,
    /// The role or agent that carries it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegated_to: Option<String>,
}

/// How a milestone is tested, or why it is not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TestPlan {
    pub files: Vec<String>,
    /// unit, property, integration …
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Why this kind of test was chosen: the user's request, the project's convention …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backing: Option<String>,
    pub scenarios: Scenarios,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skip_reason: Option<String>,
}

/// Test scenarios by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Scenarios {
    pub normal: Vec<String>,
    pub edge: Vec<String>,
    pub error: Vec<String>,
}

/// One intended change of behaviour in one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeIntent {
    #[schemars(regex(pattern = r"^CI-[0-9]{3,}$"))]
    pub id: String,
    #[serde(default = "one")]
    pub version: u64,
    pub file: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    pub behavior: String,
    #[serde(default)]
    pub decision_refs: Vec<String>,
    #[serde(default)]
    pub params: BTreeMap<String, Value>,
}

/// A diff that implements an intent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeChange {
    #[schemars(regex(pattern = r"^CC-[0-9]{3,}$"))]
    pub id: String,
    #[serde(default = "one")]
    pub version: u64,
    /// The intent it implements, in the same milestone.
    pub intent_ref: String,
    pub file: String,
    /// A unified diff.
    pub diff: String,
    /// Lines around the change, to locate it after line numbers have shifted.
    #[serde(default)]
    pub context_lines: String,
    #[serde(default)]
    pub why_comments: Vec<String>,
}

/// Documentation that comes with a milestone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Documentation {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module_comment: Option<String>,
    pub docstrings: Vec<DocComment>,
    pub algorithm_blocks: Vec<DocComment>,
    pub inline_comments: Vec<DocComment>,
}

impl Documentation {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A comment and the item it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocComment {
    /// A function, a file and line, a block.
    pub target: String,
    pub text: String,
}

/// The order in which milestones can be implemented.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MilestoneDependencies {
    pub version: u64,
    pub diagram_ascii: String,
    pub waves: Vec<Wave>,
}

impl Default for MilestoneDependencies {
    fn default() -> Self {
        Self {
            version: 1,
            diagram_ascii: String::new(),
            waves: Vec::new(),
        }
    }
}

/// Milestones that can be implemented in parallel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wave {
    pub wave: u32,
    pub milestones: Vec<String>,
}

impl Plan {
    /// Creates a draft that has only a title.
    #[must_use]
    pub fn new(plan_id: String, title: &str, created_at: Timestamp) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            plan_id,
            created_at,
            frozen_at: None,
            revises: None,
            overview: Overview {
                version: 1,
                title: title.to_owned(),
                problem: String::new(),
                approach: String::new(),
            },
            planning_context: PlanningContext::default(),
            invisible_knowledge: InvisibleKnowledge::default(),
            milestones: Vec::new(),
            milestone_dependencies: MilestoneDependencies::default(),
        }
    }

    /// Returns the milestone with this id.
    #[must_use]
    pub fn find_milestone(&self, id: &str) -> Option<&Milestone> {
        self.milestones.iter().find(|milestone| milestone.id == id)
    }

    /// Iterates over all intents with their milestones.
    pub fn iter_intents(&self) -> impl Iterator<Item = (&Milestone, &CodeIntent)> {
        self.milestones.iter().flat_map(|milestone| {
            milestone
                .code_intents
                .iter()
                .map(move |intent| (milestone, intent))
        })
    }
}
