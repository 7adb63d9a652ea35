//! The tool `claim`.

use application::claim_node::{ClaimView, claim_node};
use application::{Context, Failure};

use crate::tools::arguments::NodeOnly;
use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct Claim;

impl ToolDefinition for Claim {
    const NAME: &'static str = "claim";
    const DESCRIPTION: &'static str = "Use before work that others might take too: the node and all below it is this session's for a while; claiming again makes it longer.";
    const SET: Toolset = Toolset::Tickets;
    const HINTS: Hints = Hints::CHANGES;
    type Arguments = NodeOnly;
    type Outcome = ClaimView;

    fn run(ctx: &Context<'_>, NodeOnly { node }: NodeOnly) -> Result<ClaimView, Failure> {
        // Claiming again extends the lease, so the tool is idempotent for its caller.
        claim_node(ctx, &[node])
    }
}
