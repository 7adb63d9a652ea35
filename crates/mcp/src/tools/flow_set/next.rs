//! The tool `flow_next`.

use application::workflows::RunSelector;
use application::workflows::next::{NextStep, show_next_step};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// document, node or name; without it the current document
    #[serde(default)]
    subject: Option<String>,
    #[serde(default)]
    workflow: Option<String>,
}

pub(super) fn run(
    ctx: &Context<'_>,
    Arguments { subject, workflow }: Arguments,
) -> Result<NextStep, Failure> {
    show_next_step(ctx, &RunSelector { subject, workflow })
}
