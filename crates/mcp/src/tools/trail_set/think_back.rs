//! The tool `think_back`.

use application::sessions::think_back::think_back;
use application::{Context, Failure};
use serde_json::Value;

use crate::tools::arguments::{Nothing, read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const THINK_BACK: Tool = Tool {
    name: "think_back",
    description: "Use when stuck or after losing context: where the work stands, turning points, anchors, next action, what was noticed.",
    set: Toolset::Trail,
    hints: Hints::READS,
    input: |_| schema::object(Vec::new()),
    output: || {
        schema::result(&[
            ("tree", "string"),
            ("turning_points", "list of string"),
            ("anchors", "list of string"),
            ("signals", "list of object"),
            ("log", "list of string"),
        ])
    },
    run,
};

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let Nothing {} = read(arguments)?;
    value(&think_back(ctx)?)
}
