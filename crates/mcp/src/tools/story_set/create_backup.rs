//! The tool `create_backup`.

use application::create_backup::create_backup;
use application::{Context, Failure};
use serde_json::Value;

use crate::tools::arguments::{Nothing, entity, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const CREATE_BACKUP: Tool = Tool {
    name: "create_backup",
    description: "Use before a large rewrite: a readable copy in backups/. Every version is kept in any case.",
    set: Toolset::Story,
    hints: Hints::CHANGES,
    input: |profiles| schema::entity(profiles, Vec::new()),
    output: || {
        schema::result(&[
            ("success", "boolean"),
            ("backup", "string"),
            ("version_hash", "string"),
        ])
    },
    run,
};

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    // No version argument: a backup is always of the current text, and older versions are in the
    // store.
    let (node, Nothing {}) = entity(arguments)?;
    value(&create_backup(ctx, &node)?)
}
