//! The tool `save_anchor`.

use application::sessions::keep_anchor::{AnchorView, keep_anchor};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct SaveAnchor;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// what holds, short
    text: String,
}

impl ToolDefinition for SaveAnchor {
    const NAME: &'static str = "save_anchor";
    const DESCRIPTION: &'static str =
        "Use for a decision or limit that must hold from now on: every briefing repeats it.";
    const SET: Toolset = Toolset::Trail;
    const HINTS: Hints = Hints::CHANGES;
    type Arguments = Arguments;
    type Outcome = AnchorView;

    fn run(ctx: &Context<'_>, Arguments { text }: Arguments) -> Result<AnchorView, Failure> {
        keep_anchor(ctx, &text)
    }
}
