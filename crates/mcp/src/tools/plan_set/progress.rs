//! The tool `plan_progress`.

use application::set_progress::{ProgressRequest, set_progress};
use application::views::NodeView;
use application::{Context, Failure};
use domain::node::Progress;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::node_words;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// alias or path
    node: String,
    progress: Progress,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<NodeView, Failure> {
    set_progress(
        ctx,
        &ProgressRequest {
            node: node_words(&arguments.node),
            progress: arguments.progress,
        },
    )
}
