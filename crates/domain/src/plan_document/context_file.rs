//! Validation of `context.json`: the user's requirements and the findings of the research, captured
//! before the design.
//!
//! Deliberately loose: only the eight known lists are checked and other keys are allowed, so that
//! nothing the user said is left out for lack of a field.

use serde_json::Value;

use super::check::{PlanProblem, ProblemGrade};

/// Known lists of a context, with a description of their items. Other keys are allowed.
pub const CONTEXT_LISTS: [(&str, &str); 8] = [
    ("task_spec", "goal, scope, out of scope"),
    ("constraints", "MUST: …, SHOULD: …"),
    ("entry_points", "file:function - why"),
    ("rejected_alternatives", "alternative - why dismissed"),
    ("current_understanding", "how the system works today"),
    ("assumptions", "inference (confidence)"),
    ("invisible_knowledge", "design rationale, invariants"),
    ("user_quotes", "verbatim words of the user"),
];

/// Returns the problems in the text of `context.json`.
#[must_use]
pub fn check_context(text: &str) -> Vec<PlanProblem> {
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => {
            let line = Some(error.line()).filter(|line| *line > 0);
            return vec![PlanProblem {
                line,
                ..PlanProblem::broken("", format!("not valid JSON: {error}"))
            }];
        }
    };
    let Some(members) = value.as_object() else {
        return vec![PlanProblem::broken(
            "",
            "expected an object with lists of strings",
        )];
    };
    let mut problems = Vec::new();
    for (name, meaning) in CONTEXT_LISTS {
        match members.get(name) {
            // The only list a design cannot start without. Unfinished, not broken: the others may
            // be
            // filled first.
            None if name == "task_spec" => problems.push(PlanProblem {
                grade: ProblemGrade::Unfinished,
                ..PlanProblem::broken("/task_spec", format!("is missing: {meaning}"))
            }),
            None => {}
            Some(Value::Array(list)) => {
                for (at, one) in list.iter().enumerate().filter(|(_, one)| !one.is_string()) {
                    problems.push(PlanProblem::broken(
                        format!("/{name}/{at}"),
                        format!("expected a string, found {one}"),
                    ));
                }
            }
            Some(other) => problems.push(PlanProblem::broken(
                format!("/{name}"),
                format!("expected a list, found {other}"),
            )),
        }
    }
    super::plan_json::locate_problems(text, problems)
}
