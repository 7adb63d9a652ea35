//! The tool `plan_wait`.

use application::open_waits::{end_open_wait, poll_open_wait};
use application::poll_decision::{WaitCondition, WaitRequest, WaitView};
use application::{Context, Failure};
use domain::ids::OperationId;
use domain::node::Status;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::tools::arguments::{node_words, read};

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

impl Arguments {
    fn into_request(self) -> WaitRequest {
        WaitRequest {
            node: node_words(&self.node),
            until: self.until,
            status: self.status,
            since: self.since.map(OperationId),
        }
    }
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<WaitView, Failure> {
    // One poll: the transport calls this again until the result says `done`.
    poll_open_wait(ctx, &arguments.into_request())
}

/// Reports that the transport polls no more, although there is no decision.
pub(crate) fn end_wait(ctx: &Context<'_>, arguments: &Value) -> Result<(), Failure> {
    end_open_wait(ctx, &read::<Arguments>(arguments)?.into_request());
    Ok(())
}
