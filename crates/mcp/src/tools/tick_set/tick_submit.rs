//! The tool `tick_submit`.

use application::tick::run_tick::TickOutcome;
use application::tick::submit_plan::{PlanAnswer, submit_plan};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::signature;

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

pub(super) fn run(
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
