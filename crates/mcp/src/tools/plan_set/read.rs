//! The tool `plan_read`.

use application::read_plan::{PlanText, read_plan};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::node_words;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// alias or path
    node: String,
    /// only the text below this heading
    #[serde(default)]
    section: Option<String>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<PlanText, Failure> {
    read_plan(
        ctx,
        &node_words(&arguments.node),
        arguments.section.as_deref(),
    )
}
