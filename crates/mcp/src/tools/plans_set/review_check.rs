//! The tool `review_check`.

use application::reviews::add::{CheckRequest, add_check};
use application::{Context, Failure};
use domain::review::CheckSeverity;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{of, one_of};
use crate::tools::arguments::{read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const REVIEW_CHECK: Tool = Tool {
    name: "review_check",
    description: "Use as a reviewer to write a check down before judging it.",
    set: Toolset::Plans,
    hints: Hints::CHANGES,
    input: |_| {
        schema::object(vec![
            ("check", json!({ "type": "string" }), true),
            ("severity", one_of(&["MUST", "SHOULD", "COULD"]), true),
            (
                "scope",
                schema::text("a milestone, a file; without it everything"),
                false,
            ),
            of(),
        ])
    },
    output: || schema::result(&[("subject", "string"), ("item", "object")]),
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    check: String,
    severity: CheckSeverity,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    of: Option<String>,
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let Arguments {
        check,
        severity,
        scope,
        of,
    } = read(arguments)?;
    // No authors: over MCP they come from the workflow, so that a caller cannot shift authorship.
    value(&add_check(
        ctx,
        &CheckRequest {
            of,
            scope,
            check,
            severity,
            authors: Vec::new(),
        },
    )?)
}
