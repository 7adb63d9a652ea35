//! The tool `review_accept`.

use application::reviews::ItemOutcome;
use application::reviews::accept::accept_finding;
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// qa-001
    item: String,
    reason: String,
    #[serde(default)]
    version: Option<u64>,
    /// subject; without it the phase of the present workflow step
    #[serde(default)]
    of: Option<String>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<ItemOutcome, Failure> {
    accept_finding(
        ctx,
        arguments.of.as_deref(),
        &arguments.item,
        &arguments.reason,
        arguments.version,
    )
}
