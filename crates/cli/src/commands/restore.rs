//! `tl restore`: restores an earlier version of a plan.

use application::Failure;
use application::restore_version::restore_version;
use clap::Args;
use domain::expected_version::{ExpectedVersion, ExpectedVersions};
use domain::text::count_with_noun;

use super::approve::print_transitions;
use crate::completion::node_and_version_completer;
use crate::exit_code::ExitCode;
use crate::ui::render_node_status;
use crate::wiring::App;

/// Restore an earlier version of a plan file
///
/// The current text is kept as a version and as a readable backup.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl restore chapter 2 -1\n  tl restore act-1 3f2a9c\n  tl restore chapter 2 2026-02-11-14-30-05       the text in the backup of that name"
)]
pub(crate) struct RestoreArgs {
    /// The node, then the version: `-1`, the first digits of a hash, a time, or a backup's name
    #[arg(required = true, num_args = 2..=3, allow_negative_numbers = true, value_names = ["NODE", "VERSION"], add = node_and_version_completer())]
    words: Vec<String>,

    /// Fail unless the plan is still this version (at least 8 digits of its hash)
    #[arg(long, value_name = "HASH")]
    replaces: Option<ExpectedVersion>,
}

impl RestoreArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let replaces = self.replaces.clone().map(|version| ExpectedVersions {
            version,
            // A restored text is judged against its parent by the cascade, whichever
            // version that has.
            parent: None,
        });
        let outcome = app.run(|ctx| restore_version(ctx, &self.words, replaces.as_ref()))?;
        if app.ui.try_print_json(&outcome) {
            return Ok(ExitCode::Done);
        }
        app.ui.print_success(format_args!(
            "restored {} to {}: {}",
            outcome.node.path,
            outcome.restored.short_hex(),
            render_node_status(outcome.node.status)
        ));
        if let Some(backup) = &outcome.backup {
            app.ui
                .print_line(format_args!("  backup of the replaced text: {backup}"));
        }
        let stale = outcome.cascade.invalidated_entities.len();
        if stale > 0 {
            app.ui.print_line(format_args!(
                "  {} to revalidate:",
                count_with_noun(stale, "plan", "plans")
            ));
        }
        print_transitions(app.ui, &outcome.cascade.invalidated_entities);
        // Early cutoff: children approved against the restored text are approved again by
        // themselves.
        print_transitions(app.ui, &outcome.cascade.reinstated_entities);
        Ok(ExitCode::Done)
    }
}
