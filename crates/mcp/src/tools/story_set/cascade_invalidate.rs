//! The tool `cascade_invalidate`.

use application::invalidate::{InvalidateRequest, invalidate_node};
use application::{Context, Failure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::arguments::{entity, shown, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const CASCADE_INVALIDATE: Tool = Tool {
    name: "cascade_invalidate",
    description: "Use when a plan turned out wrong: it becomes invalid, everything below it stale, your reason on record.",
    set: Toolset::Story,
    // Approvals below are revoked; clients should ask first.
    hints: Hints::DESTROYS,
    input: |profiles| {
        let text = || json!({ "type": "string" });
        schema::entity(
            profiles,
            vec![("reason", text(), true), ("version_hash", text(), false)],
        )
    },
    output: || {
        schema::result(&[
            ("success", "boolean"),
            ("invalidated_entities", "list of object"),
        ])
    },
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    reason: String,
    #[serde(default)]
    version_hash: Option<String>,
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let (
        node,
        Arguments {
            reason,
            version_hash,
        },
    ) = entity(arguments)?;
    value(&invalidate_node(
        ctx,
        &InvalidateRequest {
            node,
            reason,
            shown: shown(version_hash.as_deref())?,
        },
    )?)
}
