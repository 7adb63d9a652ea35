//! The tool `plan_comment`.

use application::comment::{CommentView, NewComment, add_placed_comment};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::node_words;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// alias or path
    node: String,
    #[serde(default)]
    text: String,
    /// words of the plan it is about, or of its prose
    #[serde(default)]
    quote: Option<String>,
    /// heading of the section with these words, if several have them
    #[serde(default)]
    section: Option<String>,
    /// id of the comment it replies to
    #[serde(default)]
    reply_to: Option<String>,
    /// the reply ends the thread
    #[serde(default)]
    resolve: bool,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<CommentView, Failure> {
    let new = NewComment {
        text: arguments.text,
        quote: arguments.quote,
        in_prose: false,
        section: arguments.section,
        reply_to: arguments.reply_to,
        resolves: arguments.resolve,
    };
    add_placed_comment(ctx, &node_words(&arguments.node), &new)
}
