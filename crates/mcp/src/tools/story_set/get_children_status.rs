//! The tool `get_children_status`.

use application::children_status::children_status;
use application::views::ChildrenView;
use application::{Context, Failure};

use crate::tools::arguments::EntityOnly;
use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct GetChildrenStatus;

impl ToolDefinition for GetChildrenStatus {
    const NAME: &'static str = "get_children_status";
    const DESCRIPTION: &'static str =
        "Use to see which children of a plan are drafts, approved or stale, with counts.";
    const SET: Toolset = Toolset::Story;
    const HINTS: Hints = Hints::READS;
    type Arguments = EntityOnly;
    type Outcome = ChildrenView;

    fn run(ctx: &Context<'_>, entity: EntityOnly) -> Result<ChildrenView, Failure> {
        // Counts besides the list, because models miscount.
        children_status(ctx, &entity.words())
    }
}
