//! The tool `flow_next`.

use application::workflows::RunSelector;
use application::workflows::next::{NextStep, show_next_step};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct FlowNext;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// document, node or name; without it the current document
    #[serde(default)]
    subject: Option<String>,
    #[serde(default)]
    workflow: Option<String>,
}

impl ToolDefinition for FlowNext {
    const NAME: &'static str = "flow_next";
    const DESCRIPTION: &'static str = "Use to get the present step of a workflow: role, prompt with the context it needs, commands, what is missing.";
    const SET: Toolset = Toolset::Plans;
    // Read-only, so a model may ask again after a compaction.
    const HINTS: Hints = Hints::READS;
    type Arguments = Arguments;
    type Outcome = NextStep;

    fn run(
        ctx: &Context<'_>,
        Arguments { subject, workflow }: Arguments,
    ) -> Result<NextStep, Failure> {
        show_next_step(ctx, &RunSelector { subject, workflow })
    }
}
