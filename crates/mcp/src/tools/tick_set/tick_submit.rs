//! The tool `tick_submit`.

use application::tick::submit_plan::{PlanAnswer, submit_plan};
use application::{Context, Failure};
use serde::Deserialize;
use serde_json::{Value, json};

use super::signature;
use crate::tools::arguments::{read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const TICK_SUBMIT: Tool = Tool {
    name: "tick_submit",
    description: "Use to answer tick_begin: the plan is checked, kept and run. A plan that cannot be run comes back with the reason; fix it and submit again.",
    set: Toolset::Tick,
    hints: Hints::GOES_ON,
    input: |_| {
        schema::object(vec![
            ("nonce", schema::text("from tick_begin"), true),
            (
                "plan",
                json!({ "type": "object", "description": "of the schema tick_begin returned" }),
                true,
            ),
        ])
    },
    output: || schema::result(&[("tick", "integer"), ("status", "string")]),
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    nonce: String,
    plan: Value,
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let Arguments { nonce, plan } = read(arguments)?;
    value(&submit_plan(
        ctx,
        &PlanAnswer {
            nonce,
            plan,
            planner: signature(ctx),
            // The host pays for its model; the server knows neither tokens nor price.
            spent: Vec::new(),
        },
    )?)
}
