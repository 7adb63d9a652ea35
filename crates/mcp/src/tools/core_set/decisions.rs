//! The tool `work_decisions`.

use application::decisions::list_decisions;
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::{AnyObject, node_words};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// alias or path; all without it
    #[serde(default)]
    node: Option<String>,
}

pub(super) fn run(ctx: &Context<'_>, Arguments { node }: Arguments) -> Result<AnyObject, Failure> {
    let words = node.as_deref().map(node_words).unwrap_or_default();
    AnyObject::list("decisions", &list_decisions(ctx, &words)?)
}
