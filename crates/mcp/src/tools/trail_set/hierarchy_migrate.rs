//! The tool `hierarchy_migrate`.

use application::sessions::migrate_trail::migrate_trail;
use application::{Context, Failure};
use serde_json::Value;

use crate::tools::arguments::{Nothing, read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const HIERARCHY_MIGRATE: Tool = Tool {
    name: "hierarchy_migrate",
    description: "Use when told that an older trail is here: takes over hierarchy.json, a flat brain.json or active.md.",
    set: Toolset::Trail,
    hints: Hints::CHANGES,
    input: |_| schema::object(Vec::new()),
    output: || {
        schema::result(&[
            ("from", "string"),
            ("nodes", "integer"),
            ("session", "string"),
            ("tree", "string"),
        ])
    },
    run,
};

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let Nothing {} = read(arguments)?;
    value(&migrate_trail(ctx)?)
}
