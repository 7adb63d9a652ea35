//! The tool `plan_comments`.

use application::comment::{CommentView, list_comments, list_open_comments};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tools::arguments::node_words;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// alias or path
    #[serde(default)]
    node: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Comments {
    comments: Vec<CommentView>,
}

pub(super) fn run(ctx: &Context<'_>, Arguments { node }: Arguments) -> Result<Comments, Failure> {
    let comments = match node {
        Some(node) => list_comments(ctx, &node_words(&node))?,
        None => list_open_comments(ctx)?,
    };
    Ok(Comments { comments })
}
