//! The tool `plan_outline`.

use application::make_outline::{OutlineRequest, make_outline};
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
    /// levels below it
    #[serde(default)]
    depth: Option<usize>,
    /// whole texts instead of synopses
    #[serde(default)]
    full: bool,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<AnyObject, Failure> {
    let request = OutlineRequest {
        node: arguments
            .node
            .as_deref()
            .map(node_words)
            .unwrap_or_default(),
        depth: arguments.depth,
        full: arguments.full,
    };
    let outline = make_outline(ctx, &request)?;
    AnyObject::new(&serde_json::json!({ "title": outline.title, "entries": outline.entries }))
}
