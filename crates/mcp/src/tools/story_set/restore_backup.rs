//! The tool `restore_backup`.

use application::restore_version::{RestoreOutcome, restore_version};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::Level;
use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct RestoreBackup;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    entity_type: Level,
    /// alias or path
    entity_id: String,
    /// timestamp, hash prefix, or -1, -2 …
    version: String,
}

impl ToolDefinition for RestoreBackup {
    const NAME: &'static str = "restore_backup";
    const DESCRIPTION: &'static str =
        "Use to put an earlier text back into the plan's file; what is there now is kept.";
    const SET: Toolset = Toolset::Story;
    // Overwrites a file that people own, even though its text is kept.
    const HINTS: Hints = Hints::DESTROYS;
    type Arguments = Arguments;
    type Outcome = RestoreOutcome;

    fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<RestoreOutcome, Failure> {
        let mut node = arguments.entity_type.words(&arguments.entity_id);
        node.push(arguments.version);
        // No expected version: the text that is replaced is kept as a version, so nothing is lost.
        restore_version(ctx, &node, None)
    }
}
