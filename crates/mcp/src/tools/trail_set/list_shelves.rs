//! The tool `list_shelves`.

use application::sessions::recall_mems::list_shelves;
use application::{Context, Failure};
use serde_json::{Value, json};

use crate::tools::arguments::{Nothing, read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const LIST_SHELVES: Tool = Tool {
    name: "list_shelves",
    description: "Use to see which shelves hold notes, and how many.",
    set: Toolset::Trail,
    hints: Hints::READS,
    input: |_| schema::object(Vec::new()),
    output: || schema::result(&[("shelves", "list of object")]),
    run,
};

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let Nothing {} = read(arguments)?;
    // In an object, because structured results must not be arrays.
    Ok(json!({ "shelves": value(&list_shelves(ctx)?)? }))
}
