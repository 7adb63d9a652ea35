//! The tools a plan may call. One table: the prompt, the schema and the check of arguments all come from it.

mod nodes;
mod people;
mod story;

pub(crate) use story::quotes;

use serde_json::{Map, Value, json};

use crate::memory::{EntryKind, Memory};

/// What tools work on: the memory, which they change, and a view of the rest.
pub struct Stage<'a> {
    pub memory: Memory,
    pub tick: u64,
    pub world: &'a World<'a>,
    /// Plans that are to be written, in order. They are drafts: no tool approves.
    pub drafts: Vec<Draft>,
}

/// The text of a plan that is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The node's path.
    pub node: String,
    pub file: String,
    pub text: String,
}

/// Where a node is or would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftPlace {
    /// The node's path.
    pub node: String,
    pub file: String,
    /// What stands there.
    pub text: Option<String>,
}

/// Says where a node of a level lies, by its id and perhaps its parent; or why it cannot be planned.
pub type Placing<'a> = dyn Fn(&str, &str, Option<&str>) -> Result<DraftPlace, String> + 'a;

/// Finds the ids of entries of some kinds by words, the best first.
pub type Search<'a> = dyn Fn(&[EntryKind], &str, usize) -> Result<Vec<String>, String> + 'a;

/// What a tick sees besides the memory.
pub struct World<'a> {
    /// The nodes of the plan, parents before children.
    pub nodes: Vec<PlanNode>,
    pub search: &'a Search<'a>,
    /// The plan's text behind a node, by its path.
    pub text: &'a dyn Fn(&str) -> Option<String>,
    /// What was written from a node, by its path.
    pub prose: &'a dyn Fn(&str) -> Option<String>,
    pub place: &'a Placing<'a>,
    /// Asks the gates whether a plan's file may have this text.
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
    /// Something is written from it: a scene, not a chapter.
    pub is_written: bool,
}

/// A tool.
pub struct Tool {
    pub name: &'static str,
    pub about: &'static str,
    pub fields: &'static [Field],
    pub(super) run: fn(&mut Stage<'_>, &Map<String, Value>) -> Result<Value, String>,
}

/// An argument.
pub struct Field {
    pub name: &'static str,
    pub form: Form,
    pub required: bool,
    pub about: &'static str,
}

/// What an argument may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A text of at most so many characters.
    Text(usize),
    Texts,
    Number(u64, u64),
    Choice(&'static [&'static str]),
    Choices(&'static [&'static str]),
    /// An entry of the memory, or the result of an earlier action.
    Id(EntryKind),
}

/// Every tool, in the order the prompt lists them.
pub static ALL: &[&Tool] = &[
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

/// Returns a tool by its name; `memory_search` is `memory.search`.
#[must_use]
pub fn named(name: &str) -> Option<&'static Tool> {
    let name = name.trim().to_lowercase().replace(['_', '-', '/'], ".");
    ALL.iter().copied().find(|tool| tool.name == name)
}

/// Says whether a tool looks at plan files, or at what was written from them.
#[must_use]
pub fn reads_plans(name: &str) -> bool {
    name.starts_with("node.") || name == story::LOOP_CLOSE.name
}

/// Says whether a text stands for a part of an earlier action's result: `$0.id`.
#[must_use]
pub fn is_reference(text: &str) -> bool {
    let Some((index, path)) = text.strip_prefix('$').and_then(|rest| rest.split_once('.')) else {
        return false;
    };
    !index.is_empty()
        && index.len() < 3
        && index.bytes().all(|byte| byte.is_ascii_digit())
        && !path.is_empty()
        && path
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))
}

const MOST_TEXTS: usize = 12;
const LONGEST_ITEM: usize = 200;

impl Tool {
    /// Returns the schema of its arguments, with the ids there are.
    #[must_use]
    pub fn schema(&self, ids: &dyn Fn(EntryKind) -> Vec<String>) -> Value {
        let of = |form: Form| match form {
            Form::Text(most) => json!({ "type": "string", "maxLength": most }),
            Form::Texts => {
                json!({ "type": "array", "maxItems": MOST_TEXTS, "items": { "type": "string", "maxLength": LONGEST_ITEM } })
            }
            Form::Number(least, most) => {
                json!({ "type": "integer", "minimum": least, "maximum": most })
            }
            Form::Choice(words) => json!({ "type": "string", "enum": words }),
            Form::Choices(words) => {
                json!({ "type": "array", "maxItems": words.len(), "items": { "type": "string", "enum": words } })
            }
            Form::Id(kind) => {
                let reference =
                    json!({ "type": "string", "pattern": "^\\$[0-9]{1,2}\\.[A-Za-z0-9_.]{1,40}$" });
                let known = ids(kind);
                if known.is_empty() {
                    reference
                } else {
                    json!({ "anyOf": [{ "type": "string", "enum": known }, reference] })
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
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
    }

    /// Checks arguments and returns them with their ids as the memory has them. What stands for an earlier result
    /// passes if it can have one.
    pub(super) fn checked(
        &self,
        args: &Map<String, Value>,
        memory: &Memory,
        index: usize,
    ) -> Result<Map<String, Value>, String> {
        let known = || {
            self.fields
                .iter()
                .map(|field| field.name)
                .collect::<Vec<_>>()
                .join(", ")
        };
        let mut checked = Map::new();
        for (name, value) in args {
            let Some(field) = self.fields.iter().find(|field| field.name == name) else {
                return Err(format!(
                    "there is no argument `{name}`; there are {}",
                    known()
                ));
            };
            if !value.is_null() {
                checked.insert(name.clone(), field.checked(value, memory, index)?);
            }
        }
        match self
            .fields
            .iter()
            .find(|field| field.required && !checked.contains_key(field.name))
        {
            Some(missing) => Err(format!("the argument `{}` is missing", missing.name)),
            None => Ok(checked),
        }
    }

    /// Returns the lines about it in the prompt.
    #[must_use]
    pub fn described(&self) -> String {
        let form = |field: &Field| match field.form {
            Form::Text(_) => "text".to_owned(),
            Form::Texts => "list of texts".to_owned(),
            Form::Number(least, most) => format!("{least} to {most}"),
            Form::Choice(words) => words.join("|"),
            Form::Choices(words) => format!("list of {}", words.join("|")),
            Form::Id(kind) => format!("id of a {kind}"),
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
}

impl Field {
    fn checked(&self, value: &Value, memory: &Memory, index: usize) -> Result<Value, String> {
        let name = self.name;
        let wrong = |expected: &str| Err(format!("`{name}` is {value}, expected {expected}"));
        if let Some(reference) = value.as_str().filter(|text| is_reference(text)) {
            let of: usize = reference
                .trim_start_matches('$')
                .split('.')
                .next()
                .and_then(|it| it.parse().ok())
                .unwrap_or(0);
            return match of < index {
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
            Form::Text(most) => match value.as_str().map(str::trim) {
                Some("") if self.required => wrong("a text"),
                Some(text) if text.chars().count() <= most => Ok(json!(text)),
                Some(_) => Err(format!("`{name}` is longer than {most} characters")),
                None => wrong("a text"),
            },
            Form::Texts => {
                let texts = value.as_array().filter(|items| {
                    let short = |item: &Value| {
                        item.as_str()
                            .is_some_and(|text| text.chars().count() <= LONGEST_ITEM)
                    };
                    items.len() <= MOST_TEXTS && items.iter().all(short)
                });
                texts.map_or_else(
                    || wrong("a short list of short texts"),
                    |texts| Ok(json!(texts)),
                )
            }
            Form::Number(least, most) => match value
                .as_u64()
                .filter(|number| (least..=most).contains(number))
            {
                Some(number) => Ok(json!(number)),
                None => wrong(&format!("a number from {least} to {most}")),
            },
            Form::Choice(words) => {
                one_of(words, value).map_or_else(|| wrong(&words.join(" or ")), Ok)
            }
            Form::Choices(words) => {
                let chosen: Option<Vec<Value>> = value
                    .as_array()
                    .and_then(|items| items.iter().map(|item| one_of(words, item)).collect());
                chosen.map_or_else(
                    || wrong(&format!("a list of {}", words.join(", "))),
                    |chosen| Ok(json!(chosen)),
                )
            }
            Form::Id(kind) => match value.as_str().and_then(|text| memory.meant(kind, text)) {
                Some(id) => Ok(json!(id)),
                None => wrong(&format!("the id of a {kind} in the memory")),
            },
        }
    }
}

/// Reading arguments that were checked.
fn text(args: &Map<String, Value>, name: &str) -> String {
    args.get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

fn given(args: &Map<String, Value>, name: &str) -> Option<String> {
    args.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn texts(args: &Map<String, Value>, name: &str) -> Vec<String> {
    let items = args
        .get(name)
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn number(args: &Map<String, Value>, name: &str) -> Option<u64> {
    args.get(name).and_then(Value::as_u64)
}
