//! The tool `tick_submit`.

use application::tick::run_tick::TickOutcome;
use application::tick::submit_plan::{PlanAnswer, submit_plan};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::signature;
use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct TickSubmit;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// from tick_begin
    nonce: String,
    // Any value is parsed, so that the use case says what is wrong with the plan.
    /// of the schema tick_begin returned
    #[schemars(extend("type" = "object"))]
    plan: Value,
}

impl ToolDefinition for TickSubmit {
    const NAME: &'static str = "tick_submit";
    const DESCRIPTION: &'static str = "Use to answer tick_begin: the plan is checked, kept and run. A plan that cannot be run comes back with the reason; fix it and submit again.";
    const SET: Toolset = Toolset::Tick;
    const HINTS: Hints = Hints::GOES_ON;
    type Arguments = Arguments;
    type Outcome = TickOutcome;

    fn run(
        ctx: &Context<'_>,
        Arguments { nonce, plan }: Arguments,
    ) -> Result<TickOutcome, Failure> {
        submit_plan(
            ctx,
            &PlanAnswer {
                nonce,
                plan,
                planner: signature(ctx),
                // The host pays for its model; the server knows neither tokens nor price.
                spent: Vec::new(),
            },
        )
    }
}
