//! The tool `flow_abort`.

use application::workflows::abort::abort_run;
use application::workflows::{FlowView, RunSelector};
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
) -> Result<FlowView, Failure> {
    abort_run(ctx, &RunSelector { subject, workflow })
}
