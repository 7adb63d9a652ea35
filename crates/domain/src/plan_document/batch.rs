//! Batches of editing commands: one JSON object per line, in which later lines may name what earlier
//! ones add.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use super::change::PlanChange;
use super::check::PlanProblem;
use super::entity::IdCounters;
use crate::suggest::with_suggestion;

/// Parses a batch: one command per line, as JSON.
///
/// A line may name the entity it adds (`"as": "x"`); later lines write `"@x"` where they mean its
/// id.
///
/// # Errors
/// Every line that cannot be parsed, with its number.
pub fn parse_batch(text: &str, numbers: &IdCounters) -> Result<Vec<PlanChange>, Vec<PlanProblem>> {
    // A copy: ids are predicted here and really drawn in `apply_changes`, from the same start.
    let mut numbers = numbers.clone();
    let mut names: HashMap<String, String> = HashMap::new();
    let (mut changes, mut problems) = (Vec::new(), Vec::new());
    for (at, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        match parse_batch_line(line, &mut numbers, &mut names) {
            Ok(change) => changes.push(change),
            // Goes on after a bad line, so that one run reports them all.
            Err(message) => problems.push(PlanProblem {
                line: Some(at + 1),
                ..PlanProblem::broken("", message)
            }),
        }
    }
    if problems.is_empty() {
        Ok(changes)
    } else {
        Err(problems)
    }
}

fn parse_batch_line(
    line: &str,
    numbers: &mut IdCounters,
    names: &mut HashMap<String, String>,
) -> Result<PlanChange, String> {
    let mut value: Value =
        serde_json::from_str(line).map_err(|error| format!("not valid JSON: {error}"))?;
    let name = value
        .as_object_mut()
        // Taken out before the typed read, which denies unknown fields.
        .and_then(|members| members.remove("as"));
    let mut unknown = None;
    resolve_names(&mut value, names, &mut unknown);
    if let Some(unknown) = unknown {
        return Err(format!(
            "undefined name `@{unknown}`: no earlier line is named so"
        ));
    }
    let change = PlanChange::deserialize(&value)
        .map_err(|error| describe_unreadable(&with_suggestion(&error.to_string()), &value))?;
    // Ids are drawn in order, so the id this line will get is known before it is applied. A line
    // without `as` draws one too, or later predictions would be off by one.
    let id = change.added_kind().map(|kind| numbers.next_id(kind));
    match (name, id) {
        (None, _) => {}
        (Some(Value::String(name)), Some(id)) => {
            names.insert(name, id);
        }
        (Some(_), _) => {
            return Err("`as` must be a string, on a line that adds an entity".to_owned());
        }
    }
    Ok(change)
}

/// Describes a command that cannot be read, with every field it misses: the parser stops at the first.
fn describe_unreadable(error: &str, value: &Value) -> String {
    let missing: Vec<String> = list_missing_fields(value)
        .iter()
        .map(|field| format!("`{field}`"))
        .collect();
    let is_about_missing = error.starts_with("missing field");
    match (is_about_missing, missing.as_slice()) {
        (_, []) | (true, [_]) => error.to_owned(),
        (true, missing) => format!("missing fields {}", missing.join(", ")),
        (false, missing) => format!("{error}; also missing: {}", missing.join(", ")),
    }
}

/// Lists the fields that a command of this name needs and does not have, by the published schema.
fn list_missing_fields(value: &Value) -> Vec<String> {
    let schema = schemars::schema_for!(PlanChange).to_value();
    let variants = schema["oneOf"].as_array().into_iter().flatten();
    let required = variants
        .filter(|variant| variant["properties"]["do"]["const"] == value["do"])
        .filter_map(|variant| variant["required"].as_array())
        .flatten();
    let missing = required
        .filter_map(Value::as_str)
        .filter(|field| value.get(field).is_none());
    missing.map(str::to_owned).collect()
}

/// Replaces `@name` by the id it stands for, at any depth.
fn resolve_names(value: &mut Value, names: &HashMap<String, String>, unknown: &mut Option<String>) {
    match value {
        Value::String(text) => {
            // Only a whole string is a name. Text that merely starts with one, such as a mail
            // handle in
            // a sentence, stays as it is.
            let name = text
                .strip_prefix('@')
                .filter(|name| !name.is_empty() && !name.contains(char::is_whitespace));
            if let Some(name) = name.map(str::to_owned) {
                match names.get(&name) {
                    Some(id) => *text = id.clone(),
                    None => *unknown = Some(name),
                }
            }
        }
        Value::Array(list) => list
            .iter_mut()
            .for_each(|one| resolve_names(one, names, unknown)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|one| resolve_names(one, names, unknown)),
        _ => {}
    }
}
