//! The tool `story_tick_submit`.

use application::tick::run_tick::TickOutcome;
use application::tick::submit_plan::{PlanAnswer, submit_host_plan};
use application::{Context, Failure};
use domain::tick::TickStatus;
use domain::tick::plan::TickPlan;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::signature;
use crate::tools::arguments::value;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// from story_tick_begin
    nonce: String,
    // Any value is parsed, so that the use case says everything that is wrong with the plan.
    #[schemars(with = "TickPlan")]
    plan: Value,
}

pub(super) fn run(
    ctx: &Context<'_>,
    Arguments { nonce, plan }: Arguments,
) -> Result<TickOutcome, Failure> {
    let outcome = submit_host_plan(
        ctx,
        PlanAnswer {
            nonce,
            plan,
            planner: signature(ctx),
            // The host pays for its model; the server knows neither tokens nor price.
            ..PlanAnswer::default()
        },
    )?;
    // The earlier actions are kept, but a model that reads "done" goes on as if all of it were.
    match outcome.status {
        TickStatus::Failed | TickStatus::Parked => Err(failed_tick(&outcome)),
        _ => Ok(outcome),
    }
}

fn failed_tick(outcome: &TickOutcome) -> Failure {
    let (tick, why) = (outcome.tick, outcome.errors.join("; "));
    let failure = Failure::refused(format!(
        "tick {tick} is {}: {why}; the actions before it are kept",
        outcome.status.as_str()
    ));
    let failure = failure.with_step("tl story tick   # asks for the rest of it");
    match value(outcome) {
        Ok(outcome) => failure.with_current(outcome),
        Err(_) => failure,
    }
}
