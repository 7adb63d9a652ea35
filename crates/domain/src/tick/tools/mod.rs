//! Tools a plan may call, in one table from which the prompt, the schema and the argument check are
//! derived.

mod nodes;
mod people;
mod story;

pub(crate) use story::contains_quote;

use serde_json::{Map, Value, json};

use crate::json_object::json_object;
use crate::memory::{EntryKind, StoryMemory};

/// State the tools work on: the memory, which they change, and a read-only view of the rest.
pub struct TickStage<'a> {
    pub memory: StoryMemory,
    pub tick: u64,
    pub world: &'a StoryWorld<'a>,
    /// Plan texts to write, in order. They are drafts: no tool approves.
    pub drafts: Vec<Draft>,
}

/// Plan text that is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The node's path.
    pub node: String,
    pub file: String,
    pub text: String,
}

/// Location of an existing or future node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftPlace {
    /// The node's path.
    pub node: String,
    pub file: String,
    /// Current content of the file.
    pub text: Option<String>,
}

/// Locates a node of a level by its id and optional parent, or says why it cannot be planned.
pub type LocateNode<'a> = dyn Fn(&str, &str, Option<&str>) -> Result<DraftPlace, String> + 'a;

/// Searches entries of some kinds by words; returns ids, the best match first.
pub type SearchMemory<'a> = dyn Fn(&[EntryKind], &str, usize) -> Result<Vec<String>, String> + 'a;

/// Read-only view of everything besides the memory.
pub struct StoryWorld<'a> {
    /// The nodes of the plan, parents before children.
    pub nodes: Vec<PlanNode>,
    pub search: &'a SearchMemory<'a>,
    /// Returns the plan text of a node, by its path.
    pub text: &'a dyn Fn(&str) -> Option<String>,
    /// Returns the prose written from a node, by its path.
    pub prose: &'a dyn Fn(&str) -> Option<String>,
    pub place: &'a LocateNode<'a>,
    /// Checks with the gates whether a plan file may get this text.
    pub allows: &'a dyn Fn(&str, &str) -> Result<(), String>,
}

/// A node of the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanNode {
    pub path: String,
    pub file: String,
    pub level: String,
    pub title: Option<String>,
    pub status: &'static str,
    pub progress: &'static str,
    /// Whether prose is written from it: true of a scene, not of a chapter.
    pub is_written: bool,
}

/// A tool: name, description, arguments and implementation.
pub struct TickTool {
    pub name: &'static str,
    pub about: &'static str,
    pub fields: &'static [ToolField],
    pub(super) run: fn(&mut TickStage<'_>, &Map<String, Value>) -> Result<Value, String>,
}

/// An argument of a tool.
pub struct ToolField {
    pub name: &'static str,
    pub form: FieldForm,
    pub required: bool,
    pub about: &'static str,
}

/// Type of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldForm {
    /// A string of at most this many characters.
    Text(usize),
    Texts,
    Number(u64, u64),
    Choice(&'static [&'static str]),
    Choices(&'static [&'static str]),
    /// Id of a memory entry, or a reference to an earlier action's result.
    Id(EntryKind),
}

/// Every tool, in the order the prompt lists them.
pub static ALL_TOOLS: &[&TickTool] = &[
    &story::MEMORY_SEARCH,
    &people::CHARACTER_GENERATE,
    &people::LOCATION_GENERATE,
    &people::RELATIONSHIP_CREATE,
    &people::RELATIONSHIP_UPDATE,
    &people::RELATIONSHIP_QUERY,
    &story::LOOP_OPEN,
    &story::LOOP_CLOSE,
    &story::SCENE_QUERY,
    &nodes::NODE_NEXT,
    &nodes::NODE_QUERY,
    &nodes::NODE_SHOW,
    &nodes::NODE_ADD,
    &nodes::NODE_EDIT,
];

/// Finds a tool by name; `memory_search` is accepted for `memory.search`.
#[must_use]
pub fn find_tool(name: &str) -> Option<&'static TickTool> {
    // Some providers do not allow dots in tool names, and models carry that habit over.
    let name = name.trim().to_lowercase().replace(['_', '-', '/'], ".");
    ALL_TOOLS.iter().copied().find(|tool| tool.name == name)
}

/// Whether a tool reads plan files or the prose written from them.
#[must_use]
pub fn tool_reads_plans(name: &str) -> bool {
    name.starts_with("node.") || name == story::LOOP_CLOSE.name
}

/// Whether a tool only reads: its result is all that it does.
#[must_use]
pub fn is_query(name: &str) -> bool {
    matches!(
        name,
        "memory.search"
            | "relationship.query"
            | "scene.query"
            | "node.next"
            | "node.query"
            | "node.show"
    )
}

/// Whether a string is a reference to an earlier action's result: `$0.id`.
#[must_use]
pub fn is_reference(text: &str) -> bool {
    let Some((index, path)) = text.strip_prefix('$').and_then(|rest| rest.split_once('.')) else {
        return false;
    };
    !index.is_empty()
        // At most two digits, like the pattern in the schema; `$100.5` is an amount of money.
        && index.len() < 3
        && index.bytes().all(|byte| byte.is_ascii_digit())
        && !path.is_empty()
        && path
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))
}

const MAX_LIST_ITEMS: usize = 12;
const MAX_ITEM_CHARS: usize = 200;

impl TickTool {
    /// Returns the JSON Schema of the arguments, with the existing ids as enums.
    #[must_use]
    pub fn argument_schema(&self, ids: &dyn Fn(EntryKind) -> Vec<String>) -> Value {
        let of = |form: FieldForm| match form {
            FieldForm::Text(max) => json!({ "type": "string", "maxLength": max }),
            FieldForm::Texts => {
                json!({ "type": "array", "maxItems": MAX_LIST_ITEMS, "items": { "type": "string", "maxLength": MAX_ITEM_CHARS } })
            }
            FieldForm::Number(min, max) => {
                json!({ "type": "integer", "minimum": min, "maximum": max })
            }
            FieldForm::Choice(words) => json!({ "type": "string", "enum": words }),
            FieldForm::Choices(words) => {
                json!({ "type": "array", "maxItems": words.len(), "items": { "type": "string", "enum": words } })
            }
            FieldForm::Id(kind) => {
                let reference =
                    json!({ "type": "string", "pattern": "^\\$[0-9]{1,2}\\.[A-Za-z0-9_.]{1,40}$" });
                // A reference is always allowed: the entry may be created by an earlier action of
                // the plan.
                let known = ids(kind);
                if known.is_empty() {
                    reference
                } else {
                    let id = json_object([("type", json!("string")), ("enum", known.into())]);
                    json_object([("anyOf", vec![id, reference].into())])
                }
            }
        };
        let properties: Map<String, Value> = self
            .fields
            .iter()
            .map(|field| (field.name.to_owned(), of(field.form)))
            .collect();
        let required: Vec<&str> = self
            .fields
            .iter()
            .filter(|field| field.required)
            .map(|field| field.name)
            .collect();
        // Closed: strict structured output of some providers requires it, and an invented argument
        // would be refused later anyway.
        json_object([
            ("type", json!("object")),
            ("properties", properties.into()),
            ("required", required.into()),
            ("additionalProperties", json!(false)),
        ])
    }

    /// Validates arguments and normalises ids to the memory's spelling.
    ///
    /// References are accepted if they point to an earlier action; their values are checked when it
    /// has run.
    pub(super) fn check_arguments(
        &self,
        args: &Map<String, Value>,
        memory: &StoryMemory,
        index: usize,
    ) -> Result<Map<String, Value>, String> {
        let known = || {
            self.fields
                .iter()
                .map(|field| field.name)
                .collect::<Vec<_>>()
                .join(", ")
        };
        // All problems at once: each costs a model another call otherwise.
        let (mut checked, mut problems) = (Map::new(), Vec::new());
        for (name, value) in args {
            let Some(field) = self.fields.iter().find(|field| field.name == name) else {
                problems.push(format!(
                    "there is no argument `{name}`; there are {}",
                    known()
                ));
                continue;
            };
            // Models write `null` for an optional argument they leave out.
            if value.is_null() {
                continue;
            }
            match field.check_value(value, memory, index) {
                Ok(value) => drop(checked.insert(name.clone(), value)),
                Err(problem) => problems.push(problem),
            }
        }
        let is_missing = |field: &&ToolField| {
            let given = args.get(field.name).is_some_and(|value| !value.is_null());
            field.required && !given
        };
        let missing = self.fields.iter().filter(is_missing);
        problems.extend(missing.map(|field| format!("the argument `{}` is missing", field.name)));
        match problems.is_empty() {
            true => Ok(checked),
            false => Err(problems.join(", ")),
        }
    }

    /// Renders the tool's description for the prompt.
    #[must_use]
    pub fn describe_tool(&self) -> String {
        let form = |field: &ToolField| match field.form {
            FieldForm::Text(_) => "text".to_owned(),
            FieldForm::Texts => "list of texts".to_owned(),
            FieldForm::Number(min, max) => format!("{min} to {max}"),
            FieldForm::Choice(words) => words.join("|"),
            FieldForm::Choices(words) => format!("list of {}", words.join("|")),
            FieldForm::Id(kind) => format!("id of a {kind}"),
        };
        let fields: Vec<String> = self
            .fields
            .iter()
            .map(|field| {
                let optional = if field.required { "" } else { ", optional" };
                let about = if field.about.is_empty() {
                    String::new()
                } else {
                    format!(": {}", field.about)
                };
                format!("  - {} ({}{optional}){about}", field.name, form(field))
            })
            .collect();
        format!("- **{}**: {}\n{}", self.name, self.about, fields.join("\n"))
    }

    /// As [`Self::describe_tool`], with the names of its arguments alone.
    #[must_use]
    pub fn describe_in_short(&self) -> String {
        let name = |field: &ToolField| match field.required {
            true => field.name.to_owned(),
            false => format!("{}?", field.name),
        };
        let fields: Vec<String> = self.fields.iter().map(name).collect();
        format!("- {}({})", self.name, fields.join(", "))
    }
}

impl ToolField {
    const fn required_field(name: &'static str, form: FieldForm, about: &'static str) -> Self {
        Self {
            name,
            form,
            required: true,
            about,
        }
    }

    const fn optional_field(name: &'static str, form: FieldForm, about: &'static str) -> Self {
        Self {
            required: false,
            ..Self::required_field(name, form, about)
        }
    }

    fn check_value(
        &self,
        value: &Value,
        memory: &StoryMemory,
        index: usize,
    ) -> Result<Value, String> {
        let name = self.name;
        let wrong = |expected: &str| Err(format!("`{name}` is {value}, expected {expected}"));
        if let Some(reference) = value.as_str().filter(|text| is_reference(text)) {
            return match referenced_action(reference) < index {
                true => Ok(value.clone()),
                false => Err(format!(
                    "`{name}` is {value}: only results of earlier actions can be used"
                )),
            };
        }
        let one_of = |words: &[&str], value: &Value| {
            let word = value.as_str()?.trim().to_lowercase();
            words
                .iter()
                .find(|known| **known == word)
                .map(|known| json!(known))
        };
        match self.form {
            FieldForm::Text(max) => match value.as_str().map(str::trim) {
                Some("") if self.required => wrong("a string"),
                // Characters, not bytes: `maxLength` in JSON Schema counts them, and a Russian
                // description may
                // be as long as an English one.
                Some(text) if text.chars().count() <= max => Ok(json!(text)),
                Some(_) => Err(format!("`{name}` is longer than {max} characters")),
                None => wrong("a string"),
            },
            FieldForm::Texts => {
                let texts = value.as_array().filter(|items| {
                    let short = |item: &Value| {
                        item.as_str()
                            .is_some_and(|text| text.chars().count() <= MAX_ITEM_CHARS)
                    };
                    items.len() <= MAX_LIST_ITEMS && items.iter().all(short)
                });
                texts.map_or_else(
                    || wrong("a short list of short strings"),
                    |texts| Ok(json!(texts)),
                )
            }
            FieldForm::Number(min, max) => {
                match value.as_u64().filter(|number| (min..=max).contains(number)) {
                    Some(number) => Ok(json!(number)),
                    None => wrong(&format!("a number from {min} to {max}")),
                }
            }
            FieldForm::Choice(words) => {
                one_of(words, value).map_or_else(|| wrong(&words.join(" or ")), Ok)
            }
            FieldForm::Choices(words) => {
                let chosen: Option<Vec<Value>> = value
                    .as_array()
                    .and_then(|items| items.iter().map(|item| one_of(words, item)).collect());
                chosen.map_or_else(
                    || wrong(&format!("a list of {}", words.join(", "))),
                    |chosen| Ok(json!(chosen)),
                )
            }
            // The lookup also accepts names: models write `Elena` where an id is expected.
            FieldForm::Id(kind) => match value
                .as_str()
                .and_then(|text| memory.resolve_id(kind, text))
            {
                Some(id) => Ok(json!(id)),
                None => wrong(&format!("the id of a {kind} in the memory")),
            },
        }
    }
}

/// Returns the action a reference points to. Checked before the plan is run, so that a plan which
/// refers to its own future is refused before its first action has changed anything.
fn referenced_action(reference: &str) -> usize {
    reference
        .trim_start_matches('$')
        .split('.')
        .next()
        .and_then(|it| it.parse().ok())
        .unwrap_or(0)
}

/// Returns a string argument, or an empty string.
///
/// This and the readers below are for validated arguments, so a wrong type reads as a missing one.
fn text_argument(args: &Map<String, Value>, name: &str) -> String {
    args.get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

fn optional_argument(args: &Map<String, Value>, name: &str) -> Option<String> {
    args.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn list_argument(args: &Map<String, Value>, name: &str) -> Vec<String> {
    let items = args
        .get(name)
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn number_argument(args: &Map<String, Value>, name: &str) -> Option<u64> {
    args.get(name).and_then(Value::as_u64)
}

/// Returns the maximum number of results a planner asked for.
fn limit_argument(args: &Map<String, Value>, default: usize) -> usize {
    number_argument(args, "limit")
        .and_then(|max| usize::try_from(max).ok())
        .unwrap_or(default)
}

const LIMIT_FIELD: ToolField = ToolField::optional_field("limit", FieldForm::Number(1, 20), "");
