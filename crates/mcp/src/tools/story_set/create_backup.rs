//! The tool `create_backup`.

use application::create_backup::{BackupOutcome, create_backup};
use application::{Context, Failure};

use crate::tools::arguments::EntityOnly;
use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct CreateBackup;

impl ToolDefinition for CreateBackup {
    const NAME: &'static str = "create_backup";
    const DESCRIPTION: &'static str = "Use before a large rewrite: a readable copy in backups/. Every version is kept in any case.";
    const SET: Toolset = Toolset::Story;
    const HINTS: Hints = Hints::CHANGES;
    type Arguments = EntityOnly;
    type Outcome = BackupOutcome;

    fn run(ctx: &Context<'_>, entity: EntityOnly) -> Result<BackupOutcome, Failure> {
        // No version argument: a backup is always of the current text, and older versions are in the
        // store.
        create_backup(ctx, &entity.words())
    }
}
