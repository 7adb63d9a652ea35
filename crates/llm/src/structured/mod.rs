//! Structured output: extracts JSON from a model's answer, parses it leniently, repairs and
//! validates it.
//!
//! Pure. No provider is trusted to follow a schema. What cannot be parsed is reported, never
//! guessed: no answer is split into lines and taken for a list.

mod extract;
mod lenient;
mod repair;
mod validate;

use serde_json::Value;

pub use validate::{SchemaFinding, Validator};

/// Result of reading an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum AnswerReading {
    /// A value that matches the schema.
    Good(CheckedValue),
    /// A value that does not match the schema.
    Wrong { findings: Vec<SchemaFinding> },
    /// The answer ends inside its value.
    Truncated,
    /// The answer has no value.
    Nothing,
}

/// A value that matches the schema.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedValue {
    pub value: Value,
    /// Repairs made on the way, one line each.
    pub notes: Vec<String>,
}

/// Reads the value in an answer. Of several, the last one that matches the schema counts: models
/// think first and conclude afterwards.
#[must_use]
pub fn read_answer(text: &str, validator: &Validator) -> AnswerReading {
    let found = extract::find_json_candidates(text);
    let mut best: Option<Vec<SchemaFinding>> = None;
    // All candidates are tried unchanged before any is repaired: a valid value beats a repaired
    // one.
    for may_repair in [false, true] {
        for candidate in found.values.iter().rev() {
            let Some((value, mut notes)) = lenient::parse_lenient_json(candidate) else {
                continue;
            };
            match check_against_schema(value, validator, may_repair) {
                Ok(mut checked) => {
                    notes.append(&mut checked.notes);
                    return AnswerReading::Good(CheckedValue {
                        value: checked.value,
                        notes,
                    });
                }
                Err(findings) => {
                    // The candidate with the fewest findings is the one the model most likely
                    // meant.
                    if best.as_ref().is_none_or(|best| findings.len() < best.len()) {
                        best = Some(findings);
                    }
                }
            }
        }
    }
    match best {
        // An earlier small value is not the answer if a later one is cut off.
        _ if found.unfinished => AnswerReading::Truncated,
        Some(findings) => AnswerReading::Wrong { findings },
        None => AnswerReading::Nothing,
    }
}

fn check_against_schema(
    value: Value,
    validator: &Validator,
    may_repair: bool,
) -> Result<CheckedValue, Vec<SchemaFinding>> {
    let findings = validator.list_findings(&value);
    if findings.is_empty() {
        return Ok(CheckedValue {
            value,
            notes: Vec::new(),
        });
    }
    if !may_repair {
        return Err(findings);
    }
    let repaired = repair::repair_value(value, validator);
    // The original findings are reported: the model would not recognise a half-repaired value.
    if validator.list_findings(&repaired.value).is_empty() {
        Ok(repaired)
    } else {
        Err(findings)
    }
}

#[cfg(test)]
mod tests;
