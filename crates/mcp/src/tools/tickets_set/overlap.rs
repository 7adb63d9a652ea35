//! The tool `overlap`.

use application::list_overlap::{OverlapView, list_overlap};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {}

pub(super) fn run(ctx: &Context<'_>, _: Arguments) -> Result<OverlapView, Failure> {
    list_overlap(ctx)
}
