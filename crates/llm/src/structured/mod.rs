//! From what a model said to a value of the wanted shape: find it, read it, mend it, check it.
//!
//! Pure. Nothing here trusts a provider's promise to keep to a schema. What cannot be read is reported, never guessed: no
//! answer is cut into lines and taken for a list.

mod extract;
mod mend;
mod tolerant;
mod validate;

use serde_json::Value;

pub use validate::{Finding, Validator};

/// What became of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// A value of the wanted shape.
    Good(Checked),
    /// A value, but not of the wanted shape.
    Wrong { findings: Vec<Finding> },
    /// The answer breaks off inside its value.
    Truncated,
    /// There is no value in it.
    Nothing,
}

/// A value that satisfies the schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    pub value: Value,
    /// What was mended on the way, one line each.
    pub notes: Vec<String>,
}

/// Reads the value that an answer holds. When it holds several, the last one of the wanted shape counts: models think
/// first and conclude afterwards.
#[must_use]
pub fn read_answer(text: &str, validator: &Validator) -> Reading {
    let found = extract::candidates(text);
    let mut best: Option<Vec<Finding>> = None;
    // All are tried as they are before any is mended: a good value is better than a mended one.
    for mend in [false, true] {
        for candidate in found.values.iter().rev() {
            let Some((value, mut notes)) = tolerant::parse(candidate) else {
                continue;
            };
            match checked(value, validator, mend) {
                Ok(mut checked) => {
                    notes.append(&mut checked.notes);
                    return Reading::Good(Checked {
                        value: checked.value,
                        notes,
                    });
                }
                Err(findings) => {
                    if best.as_ref().is_none_or(|best| findings.len() < best.len()) {
                        best = Some(findings);
                    }
                }
            }
        }
    }
    match best {
        // A small value before one that breaks off is not the answer.
        _ if found.unfinished => Reading::Truncated,
        Some(findings) => Reading::Wrong { findings },
        None => Reading::Nothing,
    }
}

fn checked(value: Value, validator: &Validator, mend: bool) -> Result<Checked, Vec<Finding>> {
    let findings = validator.findings(&value);
    if findings.is_empty() {
        return Ok(Checked {
            value,
            notes: Vec::new(),
        });
    }
    if !mend {
        return Err(findings);
    }
    let mended = mend::mended(value, validator);
    // What is reported is about what the model said, not about a half-mended form of it.
    if validator.findings(&mended.value).is_empty() {
        Ok(mended)
    } else {
        Err(findings)
    }
}

#[cfg(test)]
mod tests;
