//! The tool `plan_stale`.

use application::revalidate::{review_all, review_one};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::{AnyObject, node_words};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// only this one; all without it
    #[serde(default)]
    node: Option<String>,
}

/// Maximum number of plans with their parent's change; the rest is counted.
const MAX_PLANS: usize = 20;

pub(super) fn run(ctx: &Context<'_>, Arguments { node }: Arguments) -> Result<AnyObject, Failure> {
    let mut stale = match node {
        Some(node) => vec![review_one(ctx, &node_words(&node))?],
        None => review_all(ctx, &[])?,
    };
    let more = stale.len().saturating_sub(MAX_PLANS);
    stale.truncate(MAX_PLANS);
    AnyObject::new(&serde_json::json!({ "stale": stale, "more": more }))
}
