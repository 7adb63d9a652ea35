//! `tl trail migrate`: imports a trail in an older format.

use application::Failure;
use application::sessions::migrate_trail::migrate_trail;
use clap::Args;
use domain::text::count_with_noun;

use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Import a trail in an older format
///
/// Looks for `.hivemind/hierarchy.json`, a flat `brain.json`, and a single `active.md` or
/// `index.md`. The old files are not changed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl trail migrate\n  tl trail migrate --json")]
pub(crate) struct MigrateArgs {}

impl MigrateArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let outcome = app.run(migrate_trail)?;
        if app.ui.try_print_json(&outcome) {
            return Ok(ExitCode::Done);
        }
        for line in outcome.tree.lines() {
            app.ui.print_line(line);
        }
        let nodes = count_with_noun(outcome.nodes, "node", "nodes");
        let lines = count_with_noun(outcome.log_lines, "line", "lines");
        app.ui.print_message(format!(
            "imported {nodes} and {lines} of log from {}: session {}",
            outcome.from, outcome.session
        ));
        Ok(ExitCode::Done)
    }
}
