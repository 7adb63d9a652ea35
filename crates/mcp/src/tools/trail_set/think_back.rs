//! The tool `think_back`.

use application::sessions::think_back::{LookBack, think_back};
use application::{Context, Failure};

use crate::tools::arguments::Nothing;
use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct ThinkBack;

impl ToolDefinition for ThinkBack {
    const NAME: &'static str = "think_back";
    const DESCRIPTION: &'static str = "Use when stuck or after losing context: where the work stands, turning points, anchors, next action, what was noticed.";
    const SET: Toolset = Toolset::Trail;
    const HINTS: Hints = Hints::READS;
    type Arguments = Nothing;
    type Outcome = LookBack;

    fn run(ctx: &Context<'_>, Nothing {}: Nothing) -> Result<LookBack, Failure> {
        think_back(ctx)
    }
}
