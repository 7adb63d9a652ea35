//! The tool `scan_hierarchy`.

use application::sessions::scan_hierarchy::scan_hierarchy;
use application::{Context, Failure};
use serde_json::Value;

use crate::tools::arguments::{Nothing, read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const SCAN_HIERARCHY: Tool = Tool {
    name: "scan_hierarchy",
    description: "Use to see the trail: the tree with a mark at the cursor, and gaps in time.",
    set: Toolset::Trail,
    hints: Hints::READS,
    input: |_| schema::object(Vec::new()),
    output: || {
        schema::result(&[
            ("version", "integer"),
            ("tree", "string"),
            ("own", "boolean"),
            ("gaps", "list of object"),
        ])
    },
    run,
};

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let Nothing {} = read(arguments)?;
    value(&scan_hierarchy(ctx)?)
}
