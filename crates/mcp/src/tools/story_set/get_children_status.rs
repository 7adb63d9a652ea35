//! The tool `get_children_status`.

use application::children_status::children_status;
use application::{Context, Failure};
use serde_json::Value;

use crate::tools::arguments::{Nothing, entity, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const GET_CHILDREN_STATUS: Tool = Tool {
    name: "get_children_status",
    description: "Use to see which children of a plan are drafts, approved or stale, with counts.",
    set: Toolset::Story,
    hints: Hints::READS,
    input: |profiles| schema::entity(profiles, Vec::new()),
    output: || {
        schema::result(&[
            ("total_children", "integer"),
            ("status_counts", "object"),
            ("children", "list of object"),
        ])
    },
    run,
};

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let (node, Nothing {}) = entity(arguments)?;
    // Counts besides the list, because models miscount.
    value(&children_status(ctx, &node)?)
}
