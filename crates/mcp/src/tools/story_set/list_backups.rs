//! The tool `list_backups`.

use application::list_versions::list_versions;
use application::{Context, Failure};
use serde_json::Value;

use crate::tools::arguments::{Nothing, entity, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const LIST_BACKUPS: Tool = Tool {
    name: "list_backups",
    description: "Use to find an earlier text of a plan: every version with time, hash and copies.",
    set: Toolset::Story,
    hints: Hints::READS,
    input: |profiles| schema::entity(profiles, Vec::new()),
    output: || {
        schema::result(&[
            ("entity_id", "string"),
            ("path", "string"),
            ("versions", "list of object"),
        ])
    },
    run,
};

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let (node, Nothing {}) = entity(arguments)?;
    // All versions, not only copies in `backups/`: each can be restored.
    value(&list_versions(ctx, &node)?)
}
