//! The tool `restore_backup`.

use application::restore_version::restore_version;
use application::{Context, Failure};
use serde::Deserialize;
use serde_json::Value;

use crate::tools::arguments::{entity, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const RESTORE_BACKUP: Tool = Tool {
    name: "restore_backup",
    description: "Use to put an earlier text back into the plan's file; what is there now is kept.",
    set: Toolset::Story,
    // Overwrites a file that people own, even though its text is kept.
    hints: Hints::DESTROYS,
    input: |profiles| {
        schema::entity(
            profiles,
            vec![(
                "version",
                schema::text("timestamp, hash prefix, or -1, -2 …"),
                true,
            )],
        )
    },
    output: || {
        schema::result(&[
            ("success", "boolean"),
            ("restored", "string"),
            ("node", "object"),
            ("cascade", "object"),
        ])
    },
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    version: String,
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let (mut node, Arguments { version }) = entity(arguments)?;
    node.push(version);
    // No expected version: the text that is replaced is kept as a version, so nothing is lost.
    value(&restore_version(ctx, &node, None)?)
}
