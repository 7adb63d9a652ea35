//! JSON text of `plan.json`: reading, writing, schema errors with line numbers, and diffing.

use std::sync::OnceLock;

use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, ast};
use serde_json::Value;

use super::check::PlanProblem;
use super::model::Plan;

/// Returns the JSON Schema of `plan.json`.
#[must_use]
pub fn plan_json_schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| schemars::schema_for!(Plan).to_value())
}

/// Serialises a plan as it is stored in the file.
#[must_use]
pub fn write_plan(plan: &Plan) -> String {
    let mut bytes = Vec::with_capacity(estimate_plan_bytes(plan));
    serde_json::to_writer_pretty(&mut bytes, plan).expect("BUG: a plan is plain data");
    bytes.push(b'\n');
    String::from_utf8(bytes).expect("BUG: JSON is UTF-8")
}

/// Estimates the size of the serialised plan, so that the buffer is not reallocated and copied
/// while it grows to megabytes.
fn estimate_plan_bytes(plan: &Plan) -> usize {
    // Field names, indentation and short values of one entity. Rough on purpose: only the diffs and
    // behaviours, which make up nearly all of a large plan, are measured.
    const ENTITY_BYTES: usize = 400;
    let changes = plan
        .milestones
        .iter()
        .flat_map(|milestone| &milestone.code_changes);
    let diffs: usize = changes
        // An eighth more for escapes: each line end of a diff becomes two characters.
        .map(|change| change.diff.len() + change.diff.len() / 8 + ENTITY_BYTES)
        .sum();
    let behaviors: usize = plan
        .iter_intents()
        .map(|(_, intent)| intent.behavior.len() + ENTITY_BYTES)
        .sum();
    diffs + behaviors + (plan.milestones.len() + 10) * 2 * ENTITY_BYTES
}

/// Parses `plan.json`.
///
/// # Errors
/// Every deviation from the schema, with pointers and lines. The plan's content is checked by
/// [`super::check`].
pub fn read_plan(text: &str) -> Result<Plan, Vec<PlanProblem>> {
    // The typed parser stops at its first error, so it is only the fast path. Files that fail are
    // validated against the schema, which reports every error with its pointer.
    serde_json::from_str(text).map_err(|error| {
        let value: Value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(error) => {
                return vec![problem_at_line(
                    "",
                    format!("not valid JSON: {}", strip_position(&error)),
                    error.line(),
                )];
            }
        };
        let problems = validate_schema(&value);
        if problems.is_empty() {
            // The types are stricter than the schema: a timestamp such as 30 February has the right
            // form. Then serde's own message is all there is.
            return vec![problem_at_line("", strip_position(&error), error.line())];
        }
        locate_problems(text, problems)
    })
}

fn problem_at_line(pointer: &str, message: String, line: usize) -> PlanProblem {
    PlanProblem {
        line: (line > 0).then_some(line),
        ..PlanProblem::broken(pointer, message)
    }
}

/// Returns serde's message without its position, which `PlanProblem::line` already carries.
fn strip_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ")
        .map_or(text.clone(), |(message, _)| message.to_owned())
}

/// Validates a value against the JSON Schema.
fn validate_schema(value: &Value) -> Vec<PlanProblem> {
    static VALIDATOR: OnceLock<Option<jsonschema::Validator>> = OnceLock::new();
    let validator = VALIDATOR.get_or_init(|| jsonschema::validator_for(plan_json_schema()).ok());
    // The schema is generated from our own types, and a test compiles it. Should it fail anyway,
    // serde's single error is reported instead of none.
    let Some(validator) = validator else {
        return Vec::new();
    };
    validator
        .iter_errors(value)
        .map(|error| PlanProblem::broken(error.instance_path().to_string(), error.to_string()))
        .collect()
}

/// Adds the line number to each problem that has only a pointer.
#[must_use]
pub fn locate_problems(text: &str, mut problems: Vec<PlanProblem>) -> Vec<PlanProblem> {
    let parsed =
        // A parse of its own, since `serde_json` values carry no positions.
        jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default()).ok();
    let Some(root) = parsed.and_then(|parsed| parsed.value) else {
        return problems;
    };
    for problem in problems.iter_mut().filter(|problem| problem.line.is_none()) {
        let start = find_offset(&root, &problem.pointer);
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

/// Returns the byte offset of the value a pointer names, or of its nearest existing ancestor.
fn find_offset(root: &ast::Value<'_>, pointer: &str) -> usize {
    let mut value = root;
    let mut start = value.start();
    for part in pointer.split('/').skip(1) {
        // RFC 6901: `~1` first, or the escaped tilde of `~01` would be read as the start of `~1`.
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

/// Returns the JSON pointers at which two texts of a plan differ; only `/` if one is not valid
/// JSON.
#[must_use]
pub fn diff_plan_texts(before: &str, after: &str) -> Vec<String> {
    match (
        serde_json::from_str::<Value>(before),
        serde_json::from_str::<Value>(after),
    ) {
        (Ok(before), Ok(after)) => {
            let mut found = Vec::new();
            compare_values(&before, &after, &mut String::new(), &mut found);
            found
        }
        _ => vec!["/".to_owned()],
    }
}

fn compare_values(before: &Value, after: &Value, pointer: &mut String, found: &mut Vec<String>) {
    let length = pointer.len();
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
            names.sort();
            names.dedup();
            for name in names {
                pointer.push('/');
                pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                compare_values(
                    before.get(name).unwrap_or(&Value::Null),
                    after.get(name).unwrap_or(&Value::Null),
                    pointer,
                    found,
                );
                pointer.truncate(length);
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            // By index, without alignment: this only points a person to the edited places. The diff
            // by
            // entity is `revision::changes_between`.
            for at in 0..before.len().max(after.len()) {
                pointer.push_str(&format!("/{at}"));
                compare_values(
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
