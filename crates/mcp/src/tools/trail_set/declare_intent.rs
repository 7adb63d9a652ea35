//! The tool `declare_intent`.

use application::sessions::declare_intent::{IntentRequest, PlaceOutcome, declare_intent};
use application::{Context, Failure};
use domain::session::SessionMode;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct DeclareIntent;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// what it is for, one line
    focus: String,
    #[serde(default)]
    mode: SessionMode,
}

impl ToolDefinition for DeclareIntent {
    const NAME: &'static str = "declare_intent";
    const DESCRIPTION: &'static str = "Use at the start of work: what this session is for. Begins a trajectory with a session file.";
    const SET: Toolset = Toolset::Trail;
    const HINTS: Hints = Hints::CHANGES;
    type Arguments = Arguments;
    type Outcome = PlaceOutcome;

    fn run(
        ctx: &Context<'_>,
        Arguments { focus, mode }: Arguments,
    ) -> Result<PlaceOutcome, Failure> {
        // The new position is the outcome, so that the model need not ask for it.
        declare_intent(ctx, &IntentRequest { text: focus, mode })
    }
}
