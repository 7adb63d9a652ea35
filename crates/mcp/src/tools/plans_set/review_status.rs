//! The tool `review_status`.

use application::reviews::ReviewView;
use application::reviews::status::show_review;
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct ReviewStatus;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// subject; without it the phase of the present workflow step
    #[serde(default)]
    of: Option<String>,
}

impl ToolDefinition for ReviewStatus {
    const NAME: &'static str = "review_status";
    const DESCRIPTION: &'static str =
        "Use to see a review: checks, verdicts, what stops the work, what waits for a person.";
    const SET: Toolset = Toolset::Plans;
    const HINTS: Hints = Hints::READS;
    type Arguments = Arguments;
    type Outcome = ReviewView;

    fn run(ctx: &Context<'_>, Arguments { of }: Arguments) -> Result<ReviewView, Failure> {
        show_review(ctx, of.as_deref())
    }
}
