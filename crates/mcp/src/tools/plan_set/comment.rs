//! The tool `plan_comment`.

use application::comment::{CommentView, add_comment};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::node_words;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// alias or path
    node: String,
    text: String,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<CommentView, Failure> {
    add_comment(ctx, &node_words(&arguments.node), &arguments.text)
}
