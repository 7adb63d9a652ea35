//! The tool `overlap`.

use application::list_overlap::{OverlapView, list_overlap};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct Overlap;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {}

impl ToolDefinition for Overlap {
    const NAME: &'static str = "overlap";
    const DESCRIPTION: &'static str = "Use before a merge, or when others work in parallel: live sessions, open branches and worktrees, and plans that would conflict.";
    const SET: Toolset = Toolset::Tickets;
    const HINTS: Hints = Hints::READS;
    type Arguments = Arguments;
    type Outcome = OverlapView;

    fn run(ctx: &Context<'_>, _: Arguments) -> Result<OverlapView, Failure> {
        list_overlap(ctx)
    }
}
