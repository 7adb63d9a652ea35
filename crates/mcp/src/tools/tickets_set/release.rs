//! The tool `release`.

use application::claim_node::{ClaimView, ReleaseRequest, release_node};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct Release;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// alias or path
    node: String,
    /// only the claim with this token
    #[serde(default)]
    token: Option<u64>,
}

impl ToolDefinition for Release {
    const NAME: &'static str = "release";
    const DESCRIPTION: &'static str =
        "Use when you stop working on what you claimed, so that others can take it.";
    const SET: Toolset = Toolset::Tickets;
    const HINTS: Hints = Hints::CHANGES;
    type Arguments = Arguments;
    type Outcome = ClaimView;

    fn run(ctx: &Context<'_>, Arguments { node, token }: Arguments) -> Result<ClaimView, Failure> {
        // With the fencing token a session cannot release a claim that was taken over meanwhile.
        release_node(
            ctx,
            &ReleaseRequest {
                node: vec![node],
                token,
            },
        )
    }
}
