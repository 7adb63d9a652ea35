//! The tool `review_verdict`.

use application::reviews::ItemOutcome;
use application::reviews::judge::{VerdictRequest, record_verdict};
use application::{Context, Failure};
use domain::review::CheckVerdict;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct ReviewVerdict;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// qa-001
    item: String,
    verdict: Word,
    #[serde(default)]
    finding: String,
    #[serde(default)]
    version: Option<u64>,
    #[serde(default)]
    cost: u64,
    /// subject; without it the phase of the present workflow step
    #[serde(default)]
    of: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Word {
    Pass,
    Fail,
}

impl ToolDefinition for ReviewVerdict {
    const NAME: &'static str = "review_verdict";
    const DESCRIPTION: &'static str = "Use as a reviewer to pass or fail a check; a failure names the place and what would be right.";
    const SET: Toolset = Toolset::Plans;
    const HINTS: Hints = Hints::CHANGES;
    type Arguments = Arguments;
    type Outcome = ItemOutcome;

    fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<ItemOutcome, Failure> {
        // A finding is required for a failure only; the use case refuses an empty one.
        let verdict = match arguments.verdict {
            Word::Pass => CheckVerdict::Pass,
            Word::Fail => CheckVerdict::Fail {
                finding: arguments.finding,
            },
        };
        record_verdict(
            ctx,
            &VerdictRequest {
                of: arguments.of,
                item: arguments.item,
                verdict,
                version: arguments.version,
                cost: arguments.cost,
            },
        )
    }
}
