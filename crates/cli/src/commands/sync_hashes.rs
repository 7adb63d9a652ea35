//! `tl state sync-hashes`: rescans all plan files.

use application::Failure;
use application::sync_hashes::sync_hashes;
use clap::Args;
use domain::text::count_with_noun;

use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Rescan all plan files and record what changed
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl state sync-hashes")]
pub(crate) struct SyncHashesArgs {}

impl SyncHashesArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let outcome = app.run(sync_hashes)?;
        if app.ui.try_print_json(&outcome) {
            return Ok(ExitCode::Done);
        }
        let nodes = count_with_noun(outcome.nodes, "node", "nodes");
        // Every command observes changed files already; this one also reads those whose stat data
        // is unchanged.
        match &outcome.summary {
            None => app.ui.print_success(format_args!("{nodes}: no changes")),
            Some(summary) => app.ui.print_success(format_args!("{nodes}: {summary}")),
        }
        Ok(ExitCode::Done)
    }
}
