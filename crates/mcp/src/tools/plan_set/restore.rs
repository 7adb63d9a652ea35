//! The tool `plan_restore`.

use application::restore_version::{RestoreOutcome, restore_version};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::{node_words, shown};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// alias or path
    node: String,
    /// -1, -2 …, the first digits of a hash, a time, or a backup's name
    version: String,
    /// the one you replace; another is refused
    #[serde(default)]
    version_hash: Option<String>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<RestoreOutcome, Failure> {
    let mut node = node_words(&arguments.node);
    node.push(arguments.version);
    // Optional: the text that is replaced is kept as a version, so nothing is lost.
    let replaced = shown(arguments.version_hash.as_deref())?;
    restore_version(ctx, &node, replaced.as_ref())
}
