//! The tool `claim`.

use application::claim_node::claim_node;
use application::{Context, Failure};
use serde_json::Value;

use crate::tools::arguments::{NodeOnly, read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const CLAIM: Tool = Tool {
    name: "claim",
    description: "Use before work that others might take too: the node and all below it is this session's for a while; claiming again makes it longer.",
    set: Toolset::Tickets,
    hints: Hints::CHANGES,
    input: |_| schema::object(vec![("node", schema::node(), true)]),
    output: || {
        schema::result(&[
            ("node", "string"),
            ("session", "string"),
            ("token", "integer"),
            ("until", "string"),
        ])
    },
    run,
};

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    // Claiming again extends the lease, so the tool is idempotent for its caller.
    let NodeOnly { node } = read(arguments)?;
    value(&claim_node(ctx, &[node])?)
}
