//! The tool `next`.

use application::next_work::list_next_work;
use application::{Context, Failure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::arguments::{read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const NEXT: Tool = Tool {
    name: "next",
    description: "Use to choose work: approved plans that are not finished and wait for nothing, each with the command that goes on.",
    set: Toolset::Core,
    hints: Hints::READS,
    input: |_| {
        schema::object(vec![(
            "limit",
            json!({ "type": "integer", "minimum": 1, "maximum": 100 }),
            false,
        )])
    },
    output: || {
        schema::result(&[
            ("ready", "list of object"),
            ("more", "integer"),
            ("problems", "list of string"),
        ])
    },
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(default = "default_limit")]
    limit: usize,
}

fn default_limit() -> usize {
    10
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let Arguments { limit } = read(arguments)?;
    let mut work = list_next_work(ctx)?;
    // Clamped although the schema has bounds: not every client validates arguments.
    let limit = limit.clamp(1, 100);
    // The use case returns all of it; a model gets a part, and the number of the rest.
    let more = work.ready.len().saturating_sub(limit);
    work.ready.truncate(limit);
    let mut value = value(&work)?;
    value["more"] = json!(more);
    Ok(value)
}
