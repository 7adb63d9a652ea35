//! The tool `brief`.

use application::brief::compose_briefing;
use application::{Context, Failure};
use serde_json::{Value, json};

use crate::tools::arguments::{Nothing, read};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const BRIEF: Tool = Tool {
    name: "brief",
    // Descriptions say when to use a tool, because that is what a model has to decide.
    description: "Use at the start of a session or after losing context: one short text about where the plans stand.",
    set: Toolset::Core,
    hints: Hints::READS,
    input: |_| schema::object(Vec::new()),
    output: || schema::result(&[("text", "string")]),
    run,
};

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    // Parsed although there are none: an unknown argument is an error for every tool alike.
    let Nothing {} = read(arguments)?;
    Ok(json!({ "text": compose_briefing(ctx, None)? }))
}
