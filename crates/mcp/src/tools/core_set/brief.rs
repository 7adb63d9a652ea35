//! The tool `brief`.

use application::brief::compose_briefing;
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Serialize;

use crate::tools::arguments::Nothing;
use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct Brief;

#[derive(Serialize, JsonSchema)]
pub(crate) struct Briefing {
    text: String,
}

impl ToolDefinition for Brief {
    const NAME: &'static str = "brief";
    const DESCRIPTION: &'static str = "Use at the start of a session or after losing context: one short text about where the plans stand.";
    const SET: Toolset = Toolset::Core;
    const HINTS: Hints = Hints::READS;
    type Arguments = Nothing;
    type Outcome = Briefing;

    fn run(ctx: &Context<'_>, Nothing {}: Nothing) -> Result<Briefing, Failure> {
        let text = compose_briefing(ctx, None)?;
        Ok(Briefing { text })
    }
}
