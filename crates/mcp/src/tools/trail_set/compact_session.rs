//! The tool `compact_session`.

use application::sessions::compact_session::{CompactOutcome, CompactRequest, compact_session};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct CompactSession;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// what to keep; without it, by rule
    #[serde(default)]
    report: Option<String>,
}

impl ToolDefinition for CompactSession {
    const NAME: &'static str = "compact_session";
    const DESCRIPTION: &'static str = "Use to end a session: distils turning points, archives its file and tree. Give `report` to say yourself what the next compaction keeps.";
    const SET: Toolset = Toolset::Trail;
    // Archives the session's tree and file: the model loses what it does not put into the report.
    const HINTS: Hints = Hints::DESTROYS;
    type Arguments = Arguments;
    type Outcome = CompactOutcome;

    fn run(ctx: &Context<'_>, Arguments { report }: Arguments) -> Result<CompactOutcome, Failure> {
        compact_session(
            ctx,
            &CompactRequest {
                report,
                turning_points: None,
            },
        )
    }
}
