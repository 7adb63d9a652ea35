//! The tool `work_log`.

use application::history::{HistoryRequest, list_history};
use application::{Context, Failure};
use domain::ids::OperationId;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::{AnyObject, node_words};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// alias or path; all without it
    #[serde(default)]
    node: Option<String>,
    #[serde(default)]
    #[schemars(range(min = 1, max = 200))]
    limit: Option<usize>,
    /// only operations older than this one
    #[serde(default)]
    before: Option<u64>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<AnyObject, Failure> {
    let operations = list_history(
        ctx,
        &HistoryRequest {
            node: arguments
                .node
                .as_deref()
                .map(node_words)
                .unwrap_or_default(),
            // Clamped although the schema has bounds: not every client validates arguments.
            most: arguments.limit.unwrap_or(20).clamp(1, 200),
            before: arguments.before.map(OperationId),
        },
    )?;
    AnyObject::list("operations", &operations)
}
