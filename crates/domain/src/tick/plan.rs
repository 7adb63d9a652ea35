//! The planner's answer: its type, the JSON Schema generated from the tools, and its validation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::tools::{self, TickTool};
use crate::generation::{acceptance, refusal};
use crate::json_object::json_object;
use crate::memory::{EntryKind, StoryMemory};

/// Number of actions above which a plan gets a warning.
pub const WARN_ABOVE_ACTIONS: usize = 4;
/// Maximum number of actions; more are refused, because a plan is a single step of the story.
pub const MAX_PLAN_ACTIONS: usize = 12;

/// A plan for one tick.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TickPlan {
    pub rationale: String,
    pub scene_intention: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pov_character: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_location: Option<String>,
    pub actions: Vec<PlanAction>,
    #[serde(default)]
    pub expected_outcomes: Vec<String>,
}

/// One tool call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanAction {
    pub tool: String,
    pub args: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Why a plan was refused, in words a model can act on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanRefused {
    #[error("not a valid plan: {0}")]
    Shape(String),
    #[error("the plan has {0} actions, more than {MAX_PLAN_ACTIONS}")]
    TooMany(usize),
    #[error("`{0}` is empty")]
    Empty(&'static str),
    #[error("action {index} calls the unknown tool `{tool}`; there are {known}")]
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
    #[error("`{field}` is `{found}`: there is no such {kind} in the memory")]
    Unknown {
        field: &'static str,
        found: String,
        kind: EntryKind,
    },
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Several(Vec<PlanRefused>),
    #[error("`{0}` is missing")]
    Missing(String),
    #[error("`{field}` is `{found}`, which is a placeholder; write what it is about")]
    Placeholder { field: String, found: String },
    #[error("action {index} repeats action {first}: the same tool with the same arguments")]
    Repeated { index: usize, first: usize },
    #[error("the plan has neither actions nor expected outcomes: nothing would change")]
    NoEffect,
    #[error("the plan has only queries and no expected outcomes: nothing would change")]
    OnlyQueries,
    #[error("`{0}` declines the task instead of planning")]
    Declined(&'static str),
}

impl PlanRefused {
    /// Returns one refusal for all problems, each of which costs a model another call otherwise.
    fn from_problems(mut problems: Vec<Self>) -> Result<(), Self> {
        match problems.len() {
            0 => Ok(()),
            1 => Err(problems.remove(0)),
            _ => Err(Self::Several(problems)),
        }
    }
}

/// Returns the required fields that a plan and its actions lack. The deserialiser would name the
/// first one only.
fn missing_fields(value: &Value) -> Vec<PlanRefused> {
    let lacks = |object: &Value, field: &str| object.is_object() && object.get(field).is_none();
    let mut missing = Vec::new();
    for field in ["rationale", "scene_intention", "actions"] {
        if lacks(value, field) {
            missing.push(PlanRefused::Missing(field.to_owned()));
        }
    }
    let actions = value.get("actions").and_then(Value::as_array);
    for (index, action) in actions.into_iter().flatten().enumerate() {
        for field in ["tool", "args"] {
            if lacks(action, field) {
                missing.push(PlanRefused::Missing(format!("actions[{index}].{field}")));
            }
        }
    }
    missing
}

impl TickPlan {
    /// Parses and validates a plan. Ids are normalised to the memory's spelling.
    ///
    /// Unknown fields are ignored, wrong types are not. The arguments of all actions are checked
    /// before any of them runs.
    ///
    /// # Errors
    /// Every problem that can be found at once.
    pub fn read_plan(value: &Value, memory: &StoryMemory) -> Result<Self, PlanRefused> {
        // Lenient where it costs nothing: models add fields of their own, and a refused plan costs
        // another call.
        PlanRefused::from_problems(missing_fields(value))?;
        let mut plan: Self = serde_json::from_value(value.clone())
            .map_err(|error| PlanRefused::Shape(error.to_string()))?;
        let mut problems = Vec::new();
        for (field, text) in [
            ("rationale", &plan.rationale),
            ("scene_intention", &plan.scene_intention),
        ] {
            if text.trim().is_empty() {
                problems.push(PlanRefused::Empty(field));
            } else if acceptance::is_placeholder(text) {
                problems.push(PlanRefused::Placeholder {
                    field: field.to_owned(),
                    found: text.trim().to_owned(),
                });
            } else if refusal::is_refusal(text) {
                problems.push(PlanRefused::Declined(field));
            }
        }
        problems.extend(plan.find_hollow_parts());
        if plan.actions.len() > MAX_PLAN_ACTIONS {
            problems.push(PlanRefused::TooMany(plan.actions.len()));
        }
        let mut resolve = |field, kind, given: &mut Option<String>| match resolve_id(
            memory,
            field,
            kind,
            given.take(),
        ) {
            Ok(id) => *given = id,
            Err(problem) => problems.push(problem),
        };
        resolve(
            "pov_character",
            EntryKind::Character,
            &mut plan.pov_character,
        );
        resolve(
            "target_location",
            EntryKind::Location,
            &mut plan.target_location,
        );
        for (index, action) in plan.actions.iter_mut().enumerate() {
            problems.extend(check_action(memory, index, action).err());
        }
        PlanRefused::from_problems(problems)?;
        Ok(plan)
    }

    /// Returns the parts of a plan that do nothing: placeholders as arguments, an action twice, no action
    /// and no outcome. Small models fill a schema with them.
    fn find_hollow_parts(&self) -> Vec<PlanRefused> {
        let mut problems = Vec::new();
        for (index, action) in self.actions.iter().enumerate() {
            let hollow = action.args.iter().find(|(_, value)| {
                // An empty argument is left to the tool, and an id is an argument.
                value.as_str().is_some_and(|text| {
                    let is_blank = !text.chars().any(char::is_alphanumeric);
                    !text.trim().is_empty() && is_blank || acceptance::is_whole_slot(text)
                })
            });
            problems.extend(hollow.map(|(name, value)| PlanRefused::Placeholder {
                field: format!("actions[{index}].args.{name}"),
                found: value.as_str().unwrap_or_default().trim().to_owned(),
            }));
            let is_same =
                |other: &PlanAction| other.tool == action.tool && other.args == action.args;
            let first = self.actions.iter().take(index).position(is_same);
            problems.extend(first.map(|first| PlanRefused::Repeated { index, first }));
        }
        for (index, outcome) in self.expected_outcomes.iter().enumerate() {
            if acceptance::is_placeholder(outcome) {
                problems.push(PlanRefused::Placeholder {
                    field: format!("expected_outcomes[{index}]"),
                    found: outcome.trim().to_owned(),
                });
            }
        }
        if self.actions.is_empty() && !self.has_outcome() {
            problems.push(PlanRefused::NoEffect);
        }
        problems
    }

    fn has_outcome(&self) -> bool {
        let mut outcomes = self.expected_outcomes.iter();
        outcomes.any(|outcome| !acceptance::is_placeholder(outcome))
    }

    /// Refuses a plan that only asks. [`Self::read_plan`] takes it, because a planner may ask before it plans.
    ///
    /// # Errors
    /// When no action changes anything, and nothing is expected.
    pub fn require_effect(&self) -> Result<(), PlanRefused> {
        let changes = |action: &PlanAction| !tools::is_query(&action.tool);
        match self.has_outcome() || self.actions.iter().any(changes) {
            true => Ok(()),
            false => Err(PlanRefused::OnlyQueries),
        }
    }

    /// Returns what is unusual about the plan but no reason to refuse it.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let many = self.actions.len() > WARN_ABOVE_ACTIONS;
        many.then(|| {
            format!(
                "the plan has {} actions; {WARN_ABOVE_ACTIONS} are enough for one tick",
                self.actions.len()
            )
        })
        .into_iter()
        .collect()
    }
}

/// Checks an action and normalises its name and arguments.
fn check_action(
    memory: &StoryMemory,
    index: usize,
    action: &mut PlanAction,
) -> Result<(), PlanRefused> {
    let tool = tools::find_tool(&action.tool).ok_or_else(|| PlanRefused::NoTool {
        index,
        tool: action.tool.clone(),
        known: tools::ALL_TOOLS
            .iter()
            .map(|tool| tool.name)
            .collect::<Vec<_>>()
            .join(", "),
    })?;
    // The canonical name, so that records and files do not depend on a model's spelling.
    tool.name.clone_into(&mut action.tool);
    action.args = tool
        .check_arguments(&action.args, memory, index)
        .map_err(|problem| PlanRefused::Arguments {
            index,
            tool: tool.name.to_owned(),
            problem,
        })?;
    Ok(())
}

/// Resolves an id. Models write `null`, `none` or an empty string where they mean none.
fn resolve_id(
    memory: &StoryMemory,
    field: &'static str,
    kind: EntryKind,
    given: Option<String>,
) -> Result<Option<String>, PlanRefused> {
    let Some(given) =
        given.filter(|given| !matches!(given.trim().to_lowercase().as_str(), "" | "null" | "none"))
    else {
        return Ok(None);
    };
    match memory.resolve_id(kind, &given) {
        Some(id) => Ok(Some(id)),
        // A reference to an action's result: the plan itself may create the location.
        None if tools::is_reference(&given) => Ok(Some(given)),
        None => Err(PlanRefused::Unknown {
            field,
            found: given,
            kind,
        }),
    }
}

/// Returns the JSON Schema of a plan for these tools and this memory, with at most `max_ids` ids in an
/// enumeration, those of `cast` first.
///
/// Tool names are constants, ids are enums and every length is bounded, because constrained
/// decoding cannot produce what the schema excludes.
#[must_use]
pub fn plan_schema(memory: &StoryMemory, cast: &[&str], max_ids: usize) -> Value {
    // Once for each kind: a dozen arguments of the tools take an id of a character.
    let lists = EntryKind::ALL.map(|kind| (kind, memory.list_nameable_ids(kind, cast, max_ids)));
    let list_ids = |kind: EntryKind| {
        let found = lists.iter().find(|(known, _)| *known == kind);
        found.map(|(_, ids)| ids.clone()).unwrap_or_default()
    };
    let text = |most: usize| json!({ "type": "string", "maxLength": most });
    let actions: Vec<Value> = tools::ALL_TOOLS
        .iter()
        .map(|tool| action_schema(tool, &list_ids))
        .collect();
    let items = json_object([("anyOf", actions.into())]);
    let mut properties = vec![
        ("rationale", text(800)),
        ("scene_intention", text(500)),
        // Fewer than `read_plan` accepts: the schema guides, and a plan with a few more is still
        // run.
        (
            "actions",
            json_object([
                ("type", json!("array")),
                ("maxItems", json!(6)),
                ("items", items),
            ]),
        ),
        (
            "expected_outcomes",
            json!({ "type": "array", "maxItems": 6, "items": text(240) }),
        ),
    ];
    for (field, kind) in [
        ("pov_character", EntryKind::Character),
        ("target_location", EntryKind::Location),
    ] {
        let ids = list_ids(kind);
        // An empty enum is invalid in JSON Schema.
        if !ids.is_empty() {
            let id = json_object([("type", json!("string")), ("enum", ids.into())]);
            properties.push((field, id));
        }
    }
    json_object([
        ("type", json!("object")),
        (
            "required",
            json!(["rationale", "actions", "scene_intention"]),
        ),
        ("properties", json_object(properties)),
    ])
}

/// As [`plan_schema`], without the arguments of each tool: they are checked when the plan is read.
#[must_use]
pub fn plan_schema_in_short() -> Value {
    let names: Vec<&str> = tools::ALL_TOOLS.iter().map(|tool| tool.name).collect();
    let action = json!({
        "type": "object",
        "required": ["tool", "args"],
        "properties": {
            "tool": { "type": "string", "enum": names },
            "args": { "type": "object" },
            "reason": { "type": "string", "maxLength": 300 },
        },
    });
    json!({
        "type": "object",
        "required": ["rationale", "actions", "scene_intention"],
        "properties": {
            "rationale": { "type": "string", "maxLength": 800 },
            "scene_intention": { "type": "string", "maxLength": 500 },
            "actions": { "type": "array", "maxItems": 6, "items": action },
            "expected_outcomes": { "type": "array", "maxItems": 6, "items": { "type": "string", "maxLength": 240 } },
            "pov_character": { "type": "string", "maxLength": 12 },
            "target_location": { "type": "string", "maxLength": 12 },
        },
    })
}

fn action_schema(tool: &TickTool, list_ids: &dyn Fn(EntryKind) -> Vec<String>) -> Value {
    let properties = json_object([
        ("tool", json!({ "type": "string", "const": tool.name })),
        ("args", tool.argument_schema(list_ids)),
        ("reason", json!({ "type": "string", "maxLength": 300 })),
    ]);
    json_object([
        ("type", json!("object")),
        ("required", json!(["tool", "args"])),
        ("properties", properties),
    ])
}
