//! The tool `scan_hierarchy`.

use application::sessions::scan_hierarchy::{ScanView, scan_hierarchy};
use application::{Context, Failure};

use crate::tools::arguments::Nothing;
use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct ScanHierarchy;

impl ToolDefinition for ScanHierarchy {
    const NAME: &'static str = "scan_hierarchy";
    const DESCRIPTION: &'static str =
        "Use to see the trail: the tree with a mark at the cursor, and gaps in time.";
    const SET: Toolset = Toolset::Trail;
    const HINTS: Hints = Hints::READS;
    type Arguments = Nothing;
    type Outcome = ScanView;

    fn run(ctx: &Context<'_>, Nothing {}: Nothing) -> Result<ScanView, Failure> {
        scan_hierarchy(ctx)
    }
}
