//! The tool `wait`.

use application::poll_decision::{WaitCondition, WaitRequest, poll_decision};
use application::{Context, Failure};
use domain::ids::OperationId;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::arguments::read;
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const WAIT: Tool = Tool {
    name: "wait",
    description: "After asking a person: returns when the plan is approved, changed, commented on, its review decided, or time is up.",
    set: Toolset::Core,
    hints: Hints::READS,
    input: |_| {
        schema::object(vec![
            ("node", schema::node(), true),
            (
                "until",
                json!({ "type": "string", "enum": ["approved", "changed"] }),
                false,
            ),
            ("status", json!({ "type": "string" }), false),
            ("since", json!({ "type": "integer" }), false),
            (
                "timeout_seconds",
                json!({ "type": "integer", "minimum": 1, "maximum": 600 }),
                false,
            ),
        ])
    },
    output: || {
        schema::result(&[
            ("done", "boolean"),
            ("path", "string"),
            ("status", "string"),
        ])
    },
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    node: String,
    #[serde(default)]
    until: WaitCondition,
    #[serde(default)]
    status: Option<String>,
    /// The last known operation: later comments end the wait. The transport fills it in.
    #[serde(default)]
    since: Option<u64>,
    /// Read by the transport, which polls this tool.
    #[serde(default, rename = "timeout_seconds")]
    _timeout_seconds: Option<u64>,
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let asked: Arguments = read(arguments)?;
    // One poll: the transport calls this again until the result says `done`.
    let since = asked.since.map(OperationId);
    let request = WaitRequest {
        node: vec![asked.node],
        until: asked.until,
        status: asked.status,
        since,
    };
    Ok(json!(poll_decision(ctx, &request)?))
}
