//! The tool `hierarchy_migrate`.

use application::sessions::migrate_trail::{MigrateOutcome, migrate_trail};
use application::{Context, Failure};

use crate::tools::arguments::Nothing;
use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct HierarchyMigrate;

impl ToolDefinition for HierarchyMigrate {
    const NAME: &'static str = "hierarchy_migrate";
    const DESCRIPTION: &'static str = "Use when told that an older trail is here: takes over hierarchy.json, a flat brain.json or active.md.";
    const SET: Toolset = Toolset::Trail;
    const HINTS: Hints = Hints::CHANGES;
    type Arguments = Nothing;
    type Outcome = MigrateOutcome;

    fn run(ctx: &Context<'_>, Nothing {}: Nothing) -> Result<MigrateOutcome, Failure> {
        migrate_trail(ctx)
    }
}
