//! The tool `save_mem`.

use application::sessions::keep_mem::{MemRequest, keep_mem};
use application::{Context, Failure};
use serde::Deserialize;
use serde_json::Value;

use crate::tools::arguments::{read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const SAVE_MEM: Tool = Tool {
    name: "save_mem",
    description: "Use to keep something worth finding again: a note on a shelf.",
    set: Toolset::Trail,
    hints: Hints::CHANGES,
    input: |_| {
        schema::object(vec![
            ("text", schema::text("the note"), true),
            ("shelf", schema::text("a short name"), false),
        ])
    },
    output: || schema::result(&[("stamp", "string"), ("shelf", "string"), ("text", "string")]),
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    text: String,
    #[serde(default)]
    shelf: Option<String>,
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    // Without a shelf the use case chooses the default one, the same as on the command line.
    let Arguments { text, shelf } = read(arguments)?;
    value(&keep_mem(ctx, &MemRequest { text, shelf })?)
}
