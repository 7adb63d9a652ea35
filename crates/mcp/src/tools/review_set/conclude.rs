//! The tool `review_conclude`.

use application::reviews::conclude::conclude_iteration;
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::AnyObject;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// its subject
    #[serde(default)]
    of: Option<String>,
    /// the one you judged
    #[serde(default)]
    iteration: Option<u32>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<AnyObject, Failure> {
    AnyObject::new(&conclude_iteration(
        ctx,
        arguments.of.as_deref(),
        arguments.iteration,
    )?)
}
