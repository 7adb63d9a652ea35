//! The tool `release`.

use application::claim_node::{ReleaseRequest, release_node};
use application::{Context, Failure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::arguments::{read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const RELEASE: Tool = Tool {
    name: "release",
    description: "Use when you stop working on what you claimed, so that others can take it.",
    set: Toolset::Tickets,
    hints: Hints::CHANGES,
    input: |_| {
        let token = json!({ "type": "integer", "description": "only the claim with this token" });
        schema::object(vec![
            ("node", schema::node(), true),
            ("token", token, false),
        ])
    },
    output: || {
        schema::result(&[
            ("node", "string"),
            ("session", "string"),
            ("token", "integer"),
        ])
    },
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    node: String,
    #[serde(default)]
    token: Option<u64>,
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    // With the fencing token a session cannot release a claim that was taken over meanwhile.
    let Arguments { node, token } = read(arguments)?;
    value(&release_node(
        ctx,
        &ReleaseRequest {
            node: vec![node],
            token,
        },
    )?)
}
