//! The tool `list_backups`.

use application::list_versions::{VersionsView, list_versions};
use application::{Context, Failure};

use crate::tools::arguments::EntityOnly;
use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct ListBackups;

impl ToolDefinition for ListBackups {
    const NAME: &'static str = "list_backups";
    const DESCRIPTION: &'static str =
        "Use to find an earlier text of a plan: every version with time, hash and copies.";
    const SET: Toolset = Toolset::Story;
    const HINTS: Hints = Hints::READS;
    type Arguments = EntityOnly;
    type Outcome = VersionsView;

    fn run(ctx: &Context<'_>, entity: EntityOnly) -> Result<VersionsView, Failure> {
        // All versions, not only copies in `backups/`: each can be restored.
        list_versions(ctx, &entity.words())
    }
}
