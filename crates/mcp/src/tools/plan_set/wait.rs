//! The tool `plan_wait`.

use application::poll_decision::{WaitCondition, WaitRequest, WaitView, poll_decision};
use application::{Context, Failure};
use domain::ids::OperationId;
use domain::node::Status;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::node_words;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// alias or path
    node: String,
    #[serde(default)]
    until: WaitCondition,
    // As text in the schema, which every client loads: a wrong one is refused by name.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    status: Option<Status>,
    // The last known operation: later comments end the wait. The transport fills it in.
    #[serde(default)]
    since: Option<u64>,
    // Read by the transport, which polls this tool.
    #[serde(default, rename = "timeout_seconds")]
    #[schemars(range(min = 1, max = 600))]
    _timeout_seconds: Option<u64>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<WaitView, Failure> {
    // One poll: the transport calls this again until the result says `done`.
    poll_decision(
        ctx,
        &WaitRequest {
            node: node_words(&arguments.node),
            until: arguments.until,
            status: arguments.status,
            since: arguments.since.map(OperationId),
        },
    )
}
