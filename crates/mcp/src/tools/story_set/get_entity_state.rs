//! The tool `get_entity_state`.

use application::show_node::show_node;
use application::{Context, Failure};
use serde_json::Value;

use crate::tools::arguments::{Nothing, entity, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const GET_ENTITY_STATE: Tool = Tool {
    name: "get_entity_state",
    description: "Use before you rely on a plan: status, version, parent, children, file.",
    set: Toolset::Story,
    hints: Hints::READS,
    input: |profiles| schema::entity(profiles, Vec::new()),
    output: || {
        schema::result(&[
            ("entity_id", "string"),
            ("entity_type", "string"),
            ("status", "string"),
            ("children", "list of string"),
            ("created_at", "string"),
            ("updated_at", "string"),
        ])
    },
    run,
};

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let (node, Nothing {}) = entity(arguments)?;
    value(&show_node(ctx, &node)?)
}
