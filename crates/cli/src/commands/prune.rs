//! `tl trail prune`: removes finished branches from the trail.

use application::Failure;
use application::sessions::prune_trail::prune_trail;
use clap::Args;
use domain::text::count_with_noun;

use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Remove finished branches from the trail, leaving one line about each
///
/// Notes older than `policy.notes_kept_days` are removed too. Nothing is lost: `tl undo OPERATION`
/// restores them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl trail prune\n  tl trail prune --json")]
pub(crate) struct PruneArgs {}

impl PruneArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let outcome = app.run(prune_trail)?;
        if app.ui.try_print_json(&outcome) {
            return Ok(ExitCode::Done);
        }
        for line in &outcome.summaries {
            app.ui.print_line(line);
        }
        let branches = count_with_noun(outcome.branches, "branch", "branches");
        app.ui.print_message(format!(
            "pruned {branches}, {}",
            count_with_noun(outcome.notes, "note", "notes")
        ));
        Ok(ExitCode::Done)
    }
}
