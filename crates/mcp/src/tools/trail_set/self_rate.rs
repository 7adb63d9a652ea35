//! The tool `self_rate`.

use application::sessions::self_rate::{RateOutcome, RateRequest, self_rate};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct SelfRate;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    #[schemars(range(min = 1, max = 10))]
    score: u8,
    /// why
    #[serde(default)]
    reason: Option<String>,
}

impl ToolDefinition for SelfRate {
    const NAME: &'static str = "self_rate";
    const DESCRIPTION: &'static str =
        "Use at a checkpoint: rate your own work, 1 (lost) to 10 (as planned).";
    const SET: Toolset = Toolset::Trail;
    const HINTS: Hints = Hints::CHANGES;
    type Arguments = Arguments;
    type Outcome = RateOutcome;

    fn run(
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
}
