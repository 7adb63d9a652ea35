//! The tool `story_tick_begin`.

use application::model_lease::refuse_leased_tick;
use application::tick::begin_tick::{NextTick, TickAsk, begin_tick};
use application::tick::run_tick::{TickOutcome, run_tick};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::tools::arguments::Nothing;

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "next")]
pub(crate) enum Begun {
    // As large as the rest of the schema, and explained by the prompt in it.
    Ask(#[schemars(with = "Map<String, Value>")] Box<TickAsk>),
    Resumed {
        from_action: usize,
        outcome: Box<TickOutcome>,
    },
}

pub(super) fn run(ctx: &Context<'_>, Nothing {}: Nothing) -> Result<Begun, Failure> {
    refuse_leased_tick(ctx)?;
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
