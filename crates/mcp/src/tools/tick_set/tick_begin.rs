//! The tool `tick_begin`.

use application::tick::begin_tick::{NextTick, TickAsk, begin_tick};
use application::tick::run_tick::{TickOutcome, run_tick};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::tools::arguments::Nothing;
use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct TickBegin;

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "next")]
pub(crate) enum Begun {
    // As large as the rest of the schema, and explained by the prompt in it.
    Ask(#[schemars(with = "Map<String, Value>")] TickAsk),
    Resumed {
        from_action: usize,
        outcome: Box<TickOutcome>,
    },
}

impl ToolDefinition for TickBegin {
    const NAME: &'static str = "tick_begin";
    const DESCRIPTION: &'static str = "Use to plan the story's next step yourself: returns the prompt, the schema of the plan and a nonce. Answer with tick_submit.";
    const SET: Toolset = Toolset::Tick;
    const HINTS: Hints = Hints::CHANGES;
    type Arguments = Nothing;
    type Outcome = Begun;

    fn run(ctx: &Context<'_>, Nothing {}: Nothing) -> Result<Begun, Failure> {
        Ok(match begin_tick(ctx)? {
            // An interrupted plan is resumed first: a new one would be based on half of its effects.
            NextTick::Run { tick, from_action } => Begun::Resumed {
                from_action,
                outcome: Box::new(run_tick(ctx, tick)?),
            },
            // The nonce in it binds the answer to this state; a plan for an older one is refused.
            NextTick::Ask(ask) => Begun::Ask(ask),
        })
    }
}
