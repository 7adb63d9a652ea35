//! The tool `work_claim`.

use application::claim_node::{ClaimView, claim_node};
use application::next_work::{TakenWork, take_next_work};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tools::arguments::node_words;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// alias or path; without it the first ready one that nobody holds
    #[serde(default)]
    node: Option<String>,
    // Read by the transport: where a connection does not tell agents apart, the name does.
    /// the one that an earlier claim returned
    #[serde(default, rename = "session")]
    _session: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Claimed {
    #[serde(flatten)]
    claim: ClaimView,
    // Only of one that was chosen here: its caller does not know it yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    // Why it is the first of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    next_steps: Vec<String>,
}

pub(super) fn run(
    ctx: &Context<'_>,
    Arguments { node, .. }: Arguments,
) -> Result<Claimed, Failure> {
    let Some(node) = node else {
        let TakenWork { item, claim } = take_next_work(ctx)?;
        return Ok(Claimed {
            claim,
            title: item.title,
            reason: Some(item.reason),
            next_steps: vec![item.action],
        });
    };
    Ok(Claimed {
        claim: claim_node(ctx, &node_words(&node))?,
        title: None,
        reason: None,
        next_steps: Vec::new(),
    })
}
