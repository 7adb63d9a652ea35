//! The tool `trail_rate`.

use application::sessions::self_rate::{RateOutcome, RateRequest, self_rate};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    #[schemars(range(min = 1, max = 10))]
    score: u8,
    /// why
    #[serde(default)]
    reason: Option<String>,
}

pub(super) fn run(
    ctx: &Context<'_>,
    Arguments { score, reason }: Arguments,
) -> Result<RateOutcome, Failure> {
    self_rate(
        ctx,
        &RateRequest {
            score,
            note: reason,
        },
    )
}
