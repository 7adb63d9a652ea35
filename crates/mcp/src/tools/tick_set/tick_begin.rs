//! The tool `tick_begin`.

use application::tick::begin_tick::{NextTick, begin_tick};
use application::tick::run_tick::run_tick;
use application::{Context, Failure};
use serde_json::{Value, json};

use crate::tools::arguments::{Nothing, read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const TICK_BEGIN: Tool = Tool {
    name: "tick_begin",
    description: "Use to plan the story's next step yourself: returns the prompt, the schema of the plan and a nonce. Answer with tick_submit.",
    set: Toolset::Tick,
    hints: Hints::CHANGES,
    input: |_| schema::object(vec![]),
    output: || schema::result(&[("next", "string")]),
    run,
};

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let Nothing {} = read(arguments)?;
    match begin_tick(ctx)? {
        // An interrupted plan is resumed first: a new one would be based on half of its effects.
        NextTick::Run { tick, from_action } => {
            let outcome = run_tick(ctx, tick)?;
            Ok(json!({ "next": "resumed", "from_action": from_action, "outcome": outcome }))
        }
        // The nonce in it binds the answer to this state; a plan for an older one is refused.
        NextTick::Ask(ask) => value(&NextTick::Ask(ask)),
    }
}
