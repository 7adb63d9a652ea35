//! `tl prune`: removes finished branches from the trail.

use application::Failure;
use application::sessions::prune_trail::prune_trail;
use clap::Args;
use domain::text::count;

use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Remove finished branches from the trail, leaving one line about each
///
/// Notes older than `policy.notes_kept_days` are removed too. Nothing is lost: `tl undo OPERATION`
/// restores them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl prune\n  tl prune --json")]
pub(crate) struct PruneArgs {}

impl PruneArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let outcome = app.run(prune_trail)?;
        if app.ui.json {
            app.ui.value(&outcome);
            return Ok(ExitCode::Done);
        }
        for line in &outcome.summaries {
            app.ui.line(line);
        }
        let branches = count(outcome.branches, "branch", "branches");
        app.ui.say(format!(
            "pruned {branches}, {}",
            count(outcome.notes, "note", "notes")
        ));
        Ok(ExitCode::Done)
    }
}
