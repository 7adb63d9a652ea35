//! The tool `wait`.

use application::show_node::show_node;
use application::{Context, Failure};
use domain::node::Status;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::arguments::read;
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const WAIT: Tool = Tool {
    name: "wait",
    description: "Use after asking a person: returns when the plan is approved, or its status changed, or the time is over.",
    set: Toolset::Core,
    hints: Hints::READS,
    input: |_| {
        schema::object(vec![
            ("node", schema::node(), true),
            ("until", json!({ "type": "string", "enum": ["approved", "changed"] }), false),
            ("status", json!({ "type": "string" }), false),
            ("timeout_seconds", json!({ "type": "integer", "minimum": 1, "maximum": 600 }), false),
        ])
    },
    output: || schema::result(&[("done", "boolean"), ("path", "string"), ("status", "string")]),
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    node: String,
    #[serde(default)]
    until: Until,
    #[serde(default)]
    status: Option<String>,
    /// How long: the transport's business, which asks again and again.
    #[serde(default, rename = "timeout_seconds")]
    _timeout_seconds: Option<u64>,
}

#[derive(Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Until {
    #[default]
    Approved,
    Changed,
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let asked: Arguments = read(arguments)?;
    let node = show_node(ctx, &[asked.node])?;
    let done = match asked.until {
        Until::Approved => node.status == Status::Approved,
        Until::Changed => asked.status.is_none_or(|known| known != node.status.to_string()),
    };
    Ok(json!({ "done": done, "path": node.path, "status": node.status, "version_hash": node.version_hash }))
}
