//! The tool `save_anchor`.

use application::sessions::keep_anchor::keep_anchor;
use application::{Context, Failure};
use serde::Deserialize;
use serde_json::Value;

use crate::tools::arguments::{read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const SAVE_ANCHOR: Tool = Tool {
    name: "save_anchor",
    description: "Use for a decision or limit that must hold from now on: every briefing repeats it.",
    set: Toolset::Trail,
    hints: Hints::CHANGES,
    input: |_| schema::object(vec![("text", schema::text("what holds, short"), true)]),
    output: || schema::result(&[("stamp", "string"), ("text", "string")]),
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    text: String,
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let Arguments { text } = read(arguments)?;
    value(&keep_anchor(ctx, &text)?)
}
