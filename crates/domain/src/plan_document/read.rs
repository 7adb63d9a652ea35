//! `plan.json` as text: read, written, compared, and what is wrong with it found with its line.

use std::sync::OnceLock;

use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, ast};
use serde_json::Value;

use super::check::Problem;
use super::model::Plan;

/// Returns the JSON Schema of `plan.json`.
#[must_use]
pub fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| schemars::schema_for!(Plan).to_value())
}

/// Returns a plan as it stands in the file.
#[must_use]
pub fn write(plan: &Plan) -> String {
    let mut bytes = Vec::with_capacity(size_of(plan));
    serde_json::to_writer_pretty(&mut bytes, plan).expect("BUG: a plan is plain data");
    bytes.push(b'\n');
    String::from_utf8(bytes).expect("BUG: JSON is UTF-8")
}

/// About how many bytes a plan has: a text that grows while it is written is copied again and again.
fn size_of(plan: &Plan) -> usize {
    const ENTITY: usize = 400;
    let changes = plan
        .milestones
        .iter()
        .flat_map(|milestone| &milestone.code_changes);
    let diffs: usize = changes
        .map(|change| change.diff.len() + change.diff.len() / 8 + ENTITY)
        .sum();
    let behaviors: usize = plan
        .intents()
        .map(|(_, intent)| intent.behavior.len() + ENTITY)
        .sum();
    diffs + behaviors + (plan.milestones.len() + 10) * 2 * ENTITY
}

/// Reads `plan.json`.
///
/// # Errors
/// Everything that is wrong with its shape, with pointers and lines. What the plan says is looked at by [`super::check`].
pub fn read(text: &str) -> Result<Plan, Vec<Problem>> {
    serde_json::from_str(text).map_err(|error| {
        let value: Value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(error) => {
                return vec![at_line(
                    "",
                    format!("this is no JSON: {}", plain(&error)),
                    error.line(),
                )];
            }
        };
        let problems = shape(&value);
        if problems.is_empty() {
            // The schema is content, the reader is not: a moment that no calendar holds, say.
            return vec![at_line("", plain(&error), error.line())];
        }
        located(text, problems)
    })
}

fn at_line(pointer: &str, message: String, line: usize) -> Problem {
    Problem {
        line: (line > 0).then_some(line),
        ..Problem::broken(pointer, message)
    }
}

/// The message without serde's own words about the place.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ")
        .map_or(text.clone(), |(message, _)| message.to_owned())
}

/// Returns where a value is not what the schema says.
fn shape(value: &Value) -> Vec<Problem> {
    static VALIDATOR: OnceLock<Option<jsonschema::Validator>> = OnceLock::new();
    let validator = VALIDATOR.get_or_init(|| jsonschema::validator_for(schema()).ok());
    let Some(validator) = validator else {
        return Vec::new();
    };
    validator
        .iter_errors(value)
        .map(|error| Problem::broken(error.instance_path().to_string(), error.to_string()))
        .collect()
}

/// Adds to each problem the line it is at.
#[must_use]
pub fn located(text: &str, mut problems: Vec<Problem>) -> Vec<Problem> {
    let parsed =
        jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default()).ok();
    let Some(root) = parsed.and_then(|parsed| parsed.value) else {
        return problems;
    };
    for problem in problems.iter_mut().filter(|problem| problem.line.is_none()) {
        let start = place(&root, &problem.pointer);
        problem.line = Some(
            1 + text
                .bytes()
                .take(start)
                .filter(|byte| *byte == b'\n')
                .count(),
        );
    }
    problems
}

/// Returns where the value a pointer names begins; where it is missing, what it is missing from.
fn place(root: &ast::Value<'_>, pointer: &str) -> usize {
    let mut value = root;
    let mut start = value.start();
    for part in pointer.split('/').skip(1) {
        let name = part.replace("~1", "/").replace("~0", "~");
        let next = match value {
            ast::Value::Object(object) => {
                let found = object
                    .properties
                    .iter()
                    .find(|property| property.name.as_str() == name);
                found.map(|property| (property.start(), &property.value))
            }
            ast::Value::Array(list) => name
                .parse()
                .ok()
                .and_then(|at: usize| list.elements.get(at))
                .map(|element| (element.start(), element)),
            _ => None,
        };
        let Some((found, inside)) = next else { break };
        (start, value) = (found, inside);
    }
    start
}

/// Returns where two texts of a plan differ, as JSON pointers; just the root when one of them is no JSON.
#[must_use]
pub fn differences(before: &str, after: &str) -> Vec<String> {
    match (
        serde_json::from_str::<Value>(before),
        serde_json::from_str::<Value>(after),
    ) {
        (Ok(before), Ok(after)) => {
            let mut found = Vec::new();
            compare(&before, &after, &mut String::new(), &mut found);
            found
        }
        _ => vec!["/".to_owned()],
    }
}

fn compare(before: &Value, after: &Value, pointer: &mut String, found: &mut Vec<String>) {
    let length = pointer.len();
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
            names.sort();
            names.dedup();
            for name in names {
                pointer.push('/');
                pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                compare(
                    before.get(name).unwrap_or(&Value::Null),
                    after.get(name).unwrap_or(&Value::Null),
                    pointer,
                    found,
                );
                pointer.truncate(length);
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            for at in 0..before.len().max(after.len()) {
                pointer.push_str(&format!("/{at}"));
                compare(
                    before.get(at).unwrap_or(&Value::Null),
                    after.get(at).unwrap_or(&Value::Null),
                    pointer,
                    found,
                );
                pointer.truncate(length);
            }
        }
        _ if before == after => {}
        _ => found.push(if pointer.is_empty() {
            "/".to_owned()
        } else {
            pointer.clone()
        }),
    }
}
