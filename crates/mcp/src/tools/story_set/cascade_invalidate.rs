//! The tool `cascade_invalidate`.

use application::invalidate::{InvalidateRequest, invalidate};
use application::{Context, Failure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::arguments::{entity, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const CASCADE_INVALIDATE: Tool = Tool {
    name: "cascade_invalidate",
    description: "Use when a plan turned out wrong: it becomes invalid, everything below it stale, your reason on record.",
    set: Toolset::Story,
    hints: Hints::DESTROYS,
    input: |profiles| schema::entity(profiles, vec![("reason", json!({ "type": "string" }), true)]),
    output: || schema::result(&[("success", "boolean"), ("invalidated_entities", "list of object")]),
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    reason: String,
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let (node, Arguments { reason }) = entity(arguments)?;
    value(&invalidate(ctx, &InvalidateRequest { node, reason })?)
}
