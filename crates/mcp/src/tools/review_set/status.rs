//! The tool `review_status`.

use application::reviews::ReviewView;
use application::reviews::status::show_review;
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// subject; without it the phase of the present workflow step
    #[serde(default)]
    of: Option<String>,
}

pub(super) fn run(ctx: &Context<'_>, Arguments { of }: Arguments) -> Result<ReviewView, Failure> {
    show_review(ctx, of.as_deref())
}
