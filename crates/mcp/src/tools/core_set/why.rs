//! The tool `why`.

use application::explain::explain_status;
use application::{Context, Failure};
use serde_json::Value;

use crate::tools::arguments::{NodeOnly, read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const WHY: Tool = Tool {
    name: "why",
    description: "Use when a plan is stale, invalid or a draft: the chain of causes, the change it began with, next steps.",
    set: Toolset::Core,
    hints: Hints::READS,
    input: |_| schema::object(vec![("node", schema::node(), true)]),
    output: || {
        schema::result(&[
            ("path", "string"),
            ("status", "string"),
            ("summary", "string"),
            ("chain", "list of object"),
            ("next_steps", "list of string"),
        ])
    },
    run,
};

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    // No level: an ambiguous alias is refused with the paths to choose from.
    let NodeOnly { node } = read(arguments)?;
    value(&explain_status(ctx, &[node])?)
}
