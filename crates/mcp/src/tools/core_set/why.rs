//! The tool `why`.

use application::explain::{Explanation, explain_status};
use application::{Context, Failure};

use crate::tools::arguments::NodeOnly;
use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct Why;

impl ToolDefinition for Why {
    const NAME: &'static str = "why";
    const DESCRIPTION: &'static str = "Use when a plan is stale, invalid or a draft: the chain of causes, the change it began with, next steps.";
    const SET: Toolset = Toolset::Core;
    const HINTS: Hints = Hints::READS;
    type Arguments = NodeOnly;
    type Outcome = Explanation;

    fn run(ctx: &Context<'_>, NodeOnly { node }: NodeOnly) -> Result<Explanation, Failure> {
        // No level: an ambiguous alias is refused with the paths to choose from.
        explain_status(ctx, &[node])
    }
}
