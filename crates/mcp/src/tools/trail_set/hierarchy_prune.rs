//! The tool `hierarchy_prune`.

use application::sessions::prune_trail::prune_trail;
use application::{Context, Failure};
use serde_json::Value;

use crate::tools::arguments::{Nothing, read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const HIERARCHY_PRUNE: Tool = Tool {
    name: "hierarchy_prune",
    description: "Use when finished branches pile up: takes them out, leaving a line about each.",
    set: Toolset::Trail,
    // Nodes leave the tree; only a summary of each branch stays.
    hints: Hints::DESTROYS,
    input: |_| schema::object(Vec::new()),
    output: || {
        schema::result(&[
            ("branches", "integer"),
            ("nodes", "integer"),
            ("notes", "integer"),
            ("summaries", "list of string"),
        ])
    },
    run,
};

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let Nothing {} = read(arguments)?;
    value(&prune_trail(ctx)?)
}
