//! The tool `hierarchy_prune`.

use application::sessions::prune_trail::{PruneOutcome, prune_trail};
use application::{Context, Failure};

use crate::tools::arguments::Nothing;
use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct HierarchyPrune;

impl ToolDefinition for HierarchyPrune {
    const NAME: &'static str = "hierarchy_prune";
    const DESCRIPTION: &'static str =
        "Use when finished branches pile up: takes them out, leaving a line about each.";
    const SET: Toolset = Toolset::Trail;
    // Nodes leave the tree; only a summary of each branch stays.
    const HINTS: Hints = Hints::DESTROYS;
    type Arguments = Nothing;
    type Outcome = PruneOutcome;

    fn run(ctx: &Context<'_>, Nothing {}: Nothing) -> Result<PruneOutcome, Failure> {
        prune_trail(ctx)
    }
}
