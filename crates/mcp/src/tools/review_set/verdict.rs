//! The tool `review_verdict`.

use application::reviews::ItemOutcome;
use application::reviews::judge::{VerdictRequest, record_verdict};
use application::{Context, Failure};
use domain::review::CheckVerdict;
use schemars::JsonSchema;
use serde::Deserialize;

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

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<ItemOutcome, Failure> {
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
