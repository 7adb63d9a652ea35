//! A plan as the planner gives it: its shape, its schema made from the tools, and what is wrong with one.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::tools::{self, Tool};
use crate::memory::{EntryKind, Memory};

/// More actions than this are worth a warning.
pub const SOFT_ACTIONS: usize = 4;
/// More are refused: a plan is one step.
pub const MOST_ACTIONS: usize = 12;
/// So many ids are listed in the schema; there are providers that take no more.
const MOST_LISTED: usize = 400;

/// What the planner wants to happen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub rationale: String,
    pub scene_intention: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pov_character: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_location: Option<String>,
    pub actions: Vec<Action>,
    #[serde(default)]
    pub expected_outcomes: Vec<String>,
}

/// One call of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    pub tool: String,
    pub args: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What is wrong with a plan, in words a model can act on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanRefused {
    #[error("it is no plan: {0}")]
    Shape(String),
    #[error("the plan has {0} actions, more than {MOST_ACTIONS}")]
    TooMany(usize),
    #[error("`{0}` is empty")]
    Empty(&'static str),
    #[error("action {index} asks for `{tool}`, which is no tool; there are {known}")]
    NoTool {
        index: usize,
        tool: String,
        known: String,
    },
    #[error("action {index} (`{tool}`): {problem}")]
    Arguments {
        index: usize,
        tool: String,
        problem: String,
    },
    #[error("`{field}` is `{found}`, which is no {kind} of the memory")]
    Unknown {
        field: &'static str,
        found: String,
        kind: EntryKind,
    },
}

impl Plan {
    /// Reads a plan: unknown fields are passed over, wrong types are not; every argument of every action is checked
    /// before any is run; ids are put into the form the memory has them in.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn read(value: &Value, memory: &Memory) -> Result<Self, PlanRefused> {
        let mut plan: Self = serde_json::from_value(value.clone())
            .map_err(|error| PlanRefused::Shape(error.to_string()))?;
        for (field, text) in [
            ("rationale", &plan.rationale),
            ("scene_intention", &plan.scene_intention),
        ] {
            if text.trim().is_empty() {
                return Err(PlanRefused::Empty(field));
            }
        }
        if plan.actions.len() > MOST_ACTIONS {
            return Err(PlanRefused::TooMany(plan.actions.len()));
        }
        plan.pov_character = meant(
            memory,
            "pov_character",
            EntryKind::Character,
            plan.pov_character,
        )?;
        plan.target_location = meant(
            memory,
            "target_location",
            EntryKind::Location,
            plan.target_location,
        )?;
        for (index, action) in plan.actions.iter_mut().enumerate() {
            let tool = tools::named(&action.tool).ok_or_else(|| PlanRefused::NoTool {
                index,
                tool: action.tool.clone(),
                known: tools::ALL
                    .iter()
                    .map(|tool| tool.name)
                    .collect::<Vec<_>>()
                    .join(", "),
            })?;
            tool.name.clone_into(&mut action.tool);
            action.args = tool
                .checked(&action.args, memory, index)
                .map_err(|problem| PlanRefused::Arguments {
                    index,
                    tool: tool.name.to_owned(),
                    problem,
                })?;
        }
        Ok(plan)
    }

    /// Returns what is odd about it, but no reason to refuse it.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let many = self.actions.len() > SOFT_ACTIONS;
        many.then(|| {
            format!(
                "the plan has {} actions; {SOFT_ACTIONS} are enough for one tick",
                self.actions.len()
            )
        })
        .into_iter()
        .collect()
    }
}

/// Returns the id that is meant. Models write `null`, `none` or nothing where they mean none.
fn meant(
    memory: &Memory,
    field: &'static str,
    kind: EntryKind,
    given: Option<String>,
) -> Result<Option<String>, PlanRefused> {
    let Some(given) =
        given.filter(|given| !matches!(given.trim().to_lowercase().as_str(), "" | "null" | "none"))
    else {
        return Ok(None);
    };
    match memory.meant(kind, &given) {
        Some(id) => Ok(Some(id)),
        // A result of an action: the place may be made by the plan itself.
        None if tools::is_reference(&given) => Ok(Some(given)),
        None => Err(PlanRefused::Unknown {
            field,
            found: given,
            kind,
        }),
    }
}

/// Returns the schema of a plan for these tools and this memory: names of tools are fixed, ids are listed, everything has
/// an end.
#[must_use]
pub fn schema(memory: &Memory) -> Value {
    let text = |most: usize| json!({ "type": "string", "maxLength": most });
    let actions: Vec<Value> = tools::ALL
        .iter()
        .map(|tool| action_schema(tool, memory))
        .collect();
    let mut properties = json!({
        "rationale": text(800),
        "scene_intention": text(500),
        "actions": { "type": "array", "maxItems": 6, "items": { "anyOf": actions } },
        "expected_outcomes": { "type": "array", "maxItems": 6, "items": text(240) },
    });
    for (field, kind) in [
        ("pov_character", EntryKind::Character),
        ("target_location", EntryKind::Location),
    ] {
        let ids = listed(memory, kind);
        if !ids.is_empty() {
            properties[field] = json!({ "type": "string", "enum": ids });
        }
    }
    json!({
        "type": "object",
        "required": ["rationale", "actions", "scene_intention"],
        "properties": properties,
    })
}

fn action_schema(tool: &Tool, memory: &Memory) -> Value {
    json!({
        "type": "object",
        "required": ["tool", "args"],
        "properties": {
            "tool": { "type": "string", "const": tool.name },
            "args": tool.schema(&|kind| listed(memory, kind)),
            "reason": { "type": "string", "maxLength": 300 },
        },
    })
}

/// Returns the newest ids of a kind.
fn listed(memory: &Memory, kind: EntryKind) -> Vec<String> {
    let mut ids: Vec<String> = match kind {
        EntryKind::Loop => memory
            .loops()
            .rev()
            .filter(|it| it.status.is_open())
            .map(|it| it.id.clone())
            .collect(),
        _ => memory
            .of(kind)
            .rev()
            .map(|entry| entry.id().to_owned())
            .collect(),
    };
    ids.truncate(MOST_LISTED);
    ids.reverse();
    ids
}
