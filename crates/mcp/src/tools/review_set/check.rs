//! The tool `review_check`.

use application::reviews::ItemOutcome;
use application::reviews::add::{CheckRequest, add_check};
use application::{Context, Failure};
use domain::review::CheckSeverity;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    check: String,
    severity: CheckSeverity,
    /// a milestone, a file; without it everything
    #[serde(default)]
    scope: String,
    /// subject; without it the phase of the present workflow step
    #[serde(default)]
    of: Option<String>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<ItemOutcome, Failure> {
    // No authors: over MCP they come from the workflow, so that a caller cannot shift authorship.
    add_check(
        ctx,
        &CheckRequest {
            of: arguments.of,
            scope: arguments.scope,
            check: arguments.check,
            severity: arguments.severity,
            authors: Vec::new(),
        },
    )
}
