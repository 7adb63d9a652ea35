//! JSON Schema validation with findings a model can act on.

use std::fmt;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{ErrorClass, LlmResult};

/// A compiled schema.
#[derive(Debug)]
pub struct Validator(jsonschema::Validator);

/// One schema violation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemaFinding {
    /// A JSON pointer; empty for the whole value.
    pub pointer: String,
    pub problem: String,
}

impl fmt::Display for SchemaFinding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() {
            "/"
        } else {
            &self.pointer
        };
        write!(formatter, "{place}: {}", self.problem)
    }
}

impl Validator {
    /// Compiles a schema. Nothing is fetched: an external reference is an error.
    ///
    /// # Errors
    /// When the schema is not valid.
    pub fn new(schema: &Value) -> LlmResult<Self> {
        jsonschema::draft202012::new(schema)
            .map(Self)
            .map_err(|error| {
                let what = format!(
                    "the schema itself is not valid at `{}`: {error}",
                    error.instance_path()
                );
                ErrorClass::Setup
                    .error(what)
                    .with_first_step("this is a bug in the caller, not a failure of the model")
            })
    }

    /// Returns the violations; empty if the value matches the schema.
    #[must_use]
    pub fn list_findings(&self, value: &Value) -> Vec<SchemaFinding> {
        let mut findings: Vec<SchemaFinding> = Vec::new();
        self.each_leaf_error(value, &mut |error| {
            let finding = SchemaFinding {
                pointer: error.instance_path().as_str().to_owned(),
                problem: describe_problem(error),
            };
            // Several branches of a schema can report the same violation.
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        });
        findings
    }

    /// Visits the errors one can act on. For `anyOf` and `oneOf` these are the errors of the branch
    /// that was probably meant: "not valid under any of the given schemas" does not help.
    pub(super) fn each_leaf_error(
        &self,
        value: &Value,
        visit: &mut dyn FnMut(&ValidationError<'_>),
    ) {
        for error in self.0.iter_errors(value) {
            visit_leaf_errors(&error, visit);
        }
    }
}

fn visit_leaf_errors(error: &ValidationError<'_>, visit: &mut dyn FnMut(&ValidationError<'_>)) {
    if let ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } =
        error.kind()
    {
        let meant = context.iter().min_by_key(|branch| {
            // The branch with the fewest signs of being another one, then the one with the fewest
            // errors.
            let other = branch.iter().filter(|error| is_other_branch(error)).count();
            (other, branch.len())
        });
        // If every branch has another constant, report the possible constants, not the violations
        // of the first branch.
        if let Some(branch) =
            meant.filter(|branch| !branch.is_empty() && !branch.iter().any(is_other_branch))
        {
            for error in branch {
                visit_leaf_errors(error, visit);
            }
            return;
        }
    }
    visit(error);
}

/// Whether the error shows that the value was meant for another branch: a wrong constant, or null.
fn is_other_branch(error: &ValidationError<'_>) -> bool {
    matches!(error.kind(), ValidationErrorKind::Constant { .. })
        || (matches!(error.kind(), ValidationErrorKind::Type { .. }) && error.instance().is_null())
}

fn describe_problem(error: &ValidationError<'_>) -> String {
    match error.kind() {
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            let wanted: Vec<String> = context
                .iter()
                .flatten()
                .filter_map(|error| match error.kind() {
                    ValidationErrorKind::Constant { expected_value } => {
                        Some(format!("{} at {}", expected_value, error.instance_path()))
                    }
                    _ => None,
                })
                .collect();
            if wanted.is_empty() {
                clip_long_text(&error.to_string())
            } else {
                format!("expected one of {}", wanted.join(", "))
            }
        }
        _ => clip_long_text(&error.to_string()),
    }
}

/// Shortens a message: the library quotes the value, and a long one would bury the problem.
fn clip_long_text(text: &str) -> String {
    const MOST: usize = 300;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    // Both ends are kept: the message may name the constraint after the quoted value.
    let (head, tail) = (
        letters.iter().take(MOST / 2),
        letters.iter().skip(letters.len() - MOST / 2),
    );
    head.collect::<String>() + " … " + &tail.collect::<String>()
}
