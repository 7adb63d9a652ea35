//! The tool `check_drift`.

use application::sessions::check_drift::{DriftView, check_drift};
use application::{Context, Failure};

use crate::tools::arguments::Nothing;
use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct CheckDrift;

impl ToolDefinition for CheckDrift {
    const NAME: &'static str = "check_drift";
    const DESCRIPTION: &'static str =
        "Use to see how far the session has strayed: a score, counters, signals.";
    const SET: Toolset = Toolset::Trail;
    const HINTS: Hints = Hints::READS;
    type Arguments = Nothing;
    type Outcome = DriftView;

    fn run(ctx: &Context<'_>, Nothing {}: Nothing) -> Result<DriftView, Failure> {
        check_drift(ctx)
    }
}
