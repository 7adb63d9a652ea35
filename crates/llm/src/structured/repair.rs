//! Repairs of values that do not match the schema: changes of form, not of content, such as `"3"`
//! for 3 or one item for a list of one.
//!
//! A repair is kept only if it reduces the errors, and each is noted.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::{Value, json};

use super::{CheckedValue, Validator};

/// Maximum number of repairs; beyond it the value is considered wrong, not malformed.
const MAX_REPAIRS: usize = 50;

pub(super) fn repair_value(mut value: Value, validator: &Validator) -> CheckedValue {
    let mut notes = Vec::new();
    'next: while notes.len() < MAX_REPAIRS {
        // Unwrapping comes first: otherwise the wrapper's key would be removed as unknown, with the
        // whole value in it.
        let mut repairs: Vec<(String, Repair)> = propose_unwrap(&value)
            .map(|repair| (String::new(), repair))
            .into_iter()
            .collect();
        let mut errors = Vec::new();
        validator.each_leaf_error(&value, &mut |error| {
            errors.push(error.instance_path().as_str().to_owned());
            let cause = error.instance_path().as_str();
            repairs.extend(
                propose_repairs(error)
                    .into_iter()
                    .map(|repair| (cause.to_owned(), repair)),
            );
        });
        for (
            cause,
            Repair {
                pointer,
                change,
                note,
            },
        ) in repairs
        {
            // On a copy: a repair that does not help leaves the value alone.
            let mut changed = value.clone();
            if !change.apply_to(&mut changed, &pointer) {
                continue;
            }
            let mut left = Vec::new();
            validator.each_leaf_error(&changed, &mut |error| {
                left.push(error.instance_path().as_str().to_owned())
            });
            if is_better(&errors, &left, &cause) {
                value = changed;
                notes.push(format!(
                    "{}: {note}",
                    if pointer.is_empty() { "/" } else { &pointer }
                ));
                // Errors are collected again after each repair, because one repair can resolve or
                // reveal others.
                continue 'next;
            }
        }
        break;
    }
    CheckedValue { value, notes }
}

/// Whether a repair made progress: fewer errors, or its error was replaced by errors further inside
/// the same value.
fn is_better(before: &[String], after: &[String], cause: &str) -> bool {
    let inside = |error: &&String| {
        error
            .strip_prefix(cause)
            .is_some_and(|rest| rest.starts_with('/'))
    };
    let elsewhere = |errors: &[String]| {
        errors
            .iter()
            .filter(|error| *error != cause && !inside(error))
            .count()
    };
    let here = |errors: &[String]| errors.iter().filter(|error| *error == cause).count();
    after.len() < before.len()
        || (here(after) < here(before) && elsewhere(after) <= elsewhere(before))
}

struct Repair {
    pointer: String,
    change: Change,
    note: String,
}

enum Change {
    Replace(Value),
    /// Removes the value from its object.
    Remove,
    RemoveKeys(Vec<String>),
}

impl Change {
    fn apply_to(self, value: &mut Value, pointer: &str) -> bool {
        match self {
            Self::Replace(new) => value
                .pointer_mut(pointer)
                .map(|place| *place = new)
                .is_some(),
            Self::Remove => {
                let Some((parent, key)) = pointer.rsplit_once('/') else {
                    return false;
                };
                // Escapes of JSON pointers, in the order RFC 6901 requires.
                let key = key.replace("~1", "/").replace("~0", "~");
                value
                    .pointer_mut(parent)
                    .and_then(Value::as_object_mut)
                    .and_then(|parent| parent.remove(&key))
                    .is_some()
            }
            Self::RemoveKeys(keys) => {
                match value.pointer_mut(pointer).and_then(Value::as_object_mut) {
                    Some(object) => {
                        object.retain(|key, _| !keys.contains(key));
                        true
                    }
                    None => false,
                }
            }
        }
    }
}

fn propose_repairs(error: &ValidationError<'_>) -> Vec<Repair> {
    let pointer = error.instance_path().as_str();
    let found = error.instance().as_ref();
    // Strict mode requires every property, so models send optional ones as null.
    if found.is_null() {
        let note = "null left out".to_owned();
        return vec![Repair {
            pointer: pointer.to_owned(),
            change: Change::Remove,
            note,
        }];
    }
    let replace = |new: Value| Repair {
        pointer: pointer.to_owned(),
        note: format!("{} read as {}", brief_text(found), brief_text(&new)),
        change: Change::Replace(new),
    };
    match error.kind() {
        ValidationErrorKind::Type { kind } => {
            let wanted: Vec<String> = match kind {
                TypeKind::Single(wanted) => vec![wanted.to_string()],
                TypeKind::Multiple(wanted) => {
                    wanted.iter().map(|wanted| wanted.to_string()).collect()
                }
            };
            wanted
                .iter()
                .filter_map(|wanted| convert_to_type(found, wanted))
                .map(replace)
                .collect()
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => vec![Repair {
            pointer: pointer.to_owned(),
            note: format!("unknown {} left out", unexpected.join(", ")),
            change: Change::RemoveKeys(unexpected.clone()),
        }],
        ValidationErrorKind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            match_loose_option(found, options)
                .map(replace)
                .into_iter()
                .collect()
        }
        ValidationErrorKind::Constant { expected_value } => {
            match_loose_option(found, std::slice::from_ref(&**expected_value))
                .map(replace)
                .into_iter()
                .collect()
        }
        // A limit of 500 where 10 is allowed still says "as many as possible".
        ValidationErrorKind::Minimum { limit } | ValidationErrorKind::Maximum { limit } => {
            vec![replace(limit.clone())]
        }
        // No branch matches by its constant; perhaps one does apart from case and separators.
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            let names = context.iter().flatten();
            names
                .filter(|error| matches!(error.kind(), ValidationErrorKind::Constant { .. }))
                .flat_map(propose_repairs)
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Converts the value to another type if only its form was wrong.
fn convert_to_type(found: &Value, wanted: &str) -> Option<Value> {
    match (wanted, found) {
        ("integer", Value::String(text)) => {
            text.trim().parse::<i64>().ok().map(|number| json!(number))
        }
        ("number", Value::String(text)) => text
            .trim()
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite())
            .map(|number| json!(number)),
        ("boolean", Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
            "true" => Some(json!(true)),
            "false" => Some(json!(false)),
            _ => None,
        },
        ("string", Value::Number(_) | Value::Bool(_)) => Some(json!(found.to_string())),
        // A list that was serialised twice; if it does not parse, it is a single item after all.
        ("array", Value::String(text)) if text.trim_start().starts_with('[') => {
            serde_json::from_str::<Value>(text)
                .ok()
                .filter(Value::is_array)
                .or_else(|| Some(json!([found])))
        }
        ("array", Value::String(_) | Value::Object(_) | Value::Number(_)) => Some(json!([found])),
        ("object", Value::String(text)) => serde_json::from_str::<Value>(text)
            .ok()
            .filter(Value::is_object),
        _ => None,
    }
}

/// Returns the only option that is equal apart from case, spaces, `-` and `_`.
fn match_loose_option(found: &Value, options: &[Value]) -> Option<Value> {
    let bare = |text: &str| -> String {
        text.chars()
            .filter(|letter| letter.is_alphanumeric() || *letter == '.')
            .flat_map(char::to_lowercase)
            .collect()
    };
    let found = bare(found.as_str()?);
    let mut same = options
        .iter()
        .filter(|option| option.as_str().is_some_and(|option| bare(option) == found));
    let option = same.next()?;
    // Two options that differ only in case or separators are ambiguous.
    same.next().is_none().then(|| option.clone())
}

/// Proposes to unwrap an answer: `{"plan": {…}}` or `[{…}]`.
fn propose_unwrap(value: &Value) -> Option<Repair> {
    let inner = match value {
        Value::Object(fields) if fields.len() == 1 => fields.values().next(),
        Value::Array(items) if items.len() == 1 => items.first(),
        _ => None,
    };
    inner
        // A scalar in a wrapper is more likely the value of a property than a wrapped answer.
        .filter(|inner| inner.is_object() || inner.is_array())
        .map(|inner| Repair {
            pointer: String::new(),
            change: Change::Replace(inner.clone()),
            note: "taken out of the envelope around it".to_owned(),
        })
}

fn brief_text(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 40 {
        text
    } else {
        text.chars().take(40).chain("…".chars()).collect()
    }
}
