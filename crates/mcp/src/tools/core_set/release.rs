//! The tool `work_release`.

use application::claim_node::{ClaimView, ReleaseRequest, release_node};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::node_words;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// alias or path
    node: String,
    /// only the claim with this token
    #[serde(default)]
    token: Option<u64>,
    // Read by the transport: where a connection does not tell agents apart, the name does.
    /// the one that the claim returned
    #[serde(default, rename = "session")]
    _session: Option<String>,
}

pub(super) fn run(
    ctx: &Context<'_>,
    Arguments { node, token, .. }: Arguments,
) -> Result<ClaimView, Failure> {
    // With the fencing token a session cannot release a claim that was taken over meanwhile.
    release_node(
        ctx,
        &ReleaseRequest {
            node: node_words(&node),
            token,
        },
    )
}
