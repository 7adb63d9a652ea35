//! The tool `trail_intent`.

use application::sessions::declare_intent::{IntentRequest, PlaceOutcome, declare_intent};
use application::{Context, Failure};
use domain::session::SessionMode;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// what it is for, one line
    focus: String,
    #[serde(default)]
    mode: SessionMode,
}

pub(super) fn run(
    ctx: &Context<'_>,
    Arguments { focus, mode }: Arguments,
) -> Result<PlaceOutcome, Failure> {
    // The new position is the outcome, so that the model need not ask for it.
    declare_intent(ctx, &IntentRequest { text: focus, mode })
}
