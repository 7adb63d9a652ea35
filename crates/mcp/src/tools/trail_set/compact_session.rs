//! The tool `trail_compact`.

use application::sessions::compact_session::{CompactOutcome, CompactRequest, compact_session};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// what to keep; without it, by rule
    #[serde(default)]
    report: Option<String>,
    /// only store the report; the session goes on
    #[serde(default)]
    keep_open: bool,
}

pub(super) fn run(
    ctx: &Context<'_>,
    Arguments { report, keep_open }: Arguments,
) -> Result<CompactOutcome, Failure> {
    compact_session(
        ctx,
        &CompactRequest {
            report,
            turning_points: None,
            keep_open,
        },
    )
}
