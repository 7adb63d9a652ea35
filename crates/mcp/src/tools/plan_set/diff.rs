//! The tool `plan_diff`.

use application::diff_version::diff_version;
use application::views::DiffView;
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::node_words;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// alias or path
    node: String,
    /// -1, -2 …, the first digits of a hash, a time, or a backup's name
    #[serde(default)]
    version: Option<String>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<DiffView, Failure> {
    let mut node = node_words(&arguments.node);
    // The reference grammar of the command line: node words, then a version; without one, the
    // version before.
    node.extend(arguments.version);
    diff_version(ctx, &node)
}
