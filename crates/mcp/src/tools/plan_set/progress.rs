//! The tool `plan_progress`.

use application::set_progress::{ProgressRequest, record_progress};
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
    /// why it is blocked
    #[serde(default)]
    reason: Option<String>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<NodeView, Failure> {
    let request = ProgressRequest {
        node: node_words(&arguments.node),
        progress: arguments.progress,
    };
    record_progress(ctx, &request, arguments.reason.as_deref()).map(|(view, _)| view)
}
