//! The tool `check_drift`.

use application::sessions::check_drift::check_drift;
use application::{Context, Failure};
use serde_json::Value;

use crate::tools::arguments::{Nothing, read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const CHECK_DRIFT: Tool = Tool {
    name: "check_drift",
    description: "Use to see how far the session has strayed: a score, counters, signals.",
    set: Toolset::Trail,
    hints: Hints::READS,
    input: |_| schema::object(Vec::new()),
    output: || {
        schema::result(&[
            ("drift_score", "integer"),
            ("turn_count", "integer"),
            ("tool_type_counts", "object"),
            ("signals", "list of object"),
        ])
    },
    run,
};

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let Nothing {} = read(arguments)?;
    value(&check_drift(ctx)?)
}
