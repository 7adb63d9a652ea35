//! The tool `plan_reject`.

use application::invalidate::{InvalidateRequest, invalidate_node};
use application::views::CascadeView;
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::{node_words, shown};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// alias or path
    node: String,
    reason: String,
    /// the one you judged; another is refused
    #[serde(default)]
    version_hash: Option<String>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<CascadeView, Failure> {
    invalidate_node(
        ctx,
        &InvalidateRequest {
            node: node_words(&arguments.node),
            reason: arguments.reason,
            shown: shown(arguments.version_hash.as_deref())?,
        },
    )
}
