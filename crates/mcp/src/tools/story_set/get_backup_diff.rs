//! The tool `get_backup_diff`.

use application::diff_version::diff_version;
use application::{Context, Failure};
use serde::Deserialize;
use serde_json::Value;

use crate::tools::arguments::{entity, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const GET_BACKUP_DIFF: Tool = Tool {
    name: "get_backup_diff",
    description: "Use to see what changed in a plan since a version, or since its approval.",
    set: Toolset::Story,
    hints: Hints::READS,
    input: |profiles| {
        schema::entity(
            profiles,
            vec![(
                "version",
                schema::text("timestamp, hash prefix, or -1, -2 …"),
                false,
            )],
        )
    },
    output: || {
        schema::result(&[
            ("older", "string"),
            ("newer", "string"),
            ("sections", "list of object"),
            ("unified", "string"),
        ])
    },
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(default)]
    version: Option<String>,
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let (mut node, Arguments { version }) = entity(arguments)?;
    // The reference grammar of the command line: node words, then a version; without one, the
    // approved text.
    node.extend(version);
    value(&diff_version(ctx, &node)?)
}
