//! `tl trail trace`: finds everything with a stamp.

use application::Failure;
use application::sessions::trace_stamp::{Traced, trace_stamp};
use clap::Args;

use crate::exit_code::ExitCode;
use crate::ui::{BOLD, styled};
use crate::wiring::App;

/// Find everything with a stamp
///
/// Searches nodes of the trail, sessions and their logs, archives, anchors, notes and commits. A
/// stamp is minute, hour, day, month and year: `30141102026` is 14:30 on 11 Feb 2026.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl trail trace 30141102026\n  tl trail trace 30141102026 --json"
)]
pub(crate) struct TraceArgs {
    /// The stamp
    stamp: String,
}

impl TraceArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let view = app.run(|ctx| trace_stamp(ctx, &self.stamp))?;
        if app.ui.try_print_json(&view) {
            return Ok(ExitCode::Done);
        }
        let title = |text: &str| app.ui.print_line(styled(BOLD, text));
        if !view.nodes.is_empty() {
            title("Nodes");
        }
        for node in &view.nodes {
            app.ui.print_line(format!(
                "  {} {} ({}, {})",
                node.id, node.content, node.level, node.status
            ));
        }
        let list = |name: &str, found: &[Traced]| {
            if !found.is_empty() {
                title(name);
                found
                    .iter()
                    .for_each(|one| app.ui.print_line(format!("  {} {}", one.stamp, one.text)));
            }
        };
        list("Sessions", &view.sessions);
        list("Log", &view.log);
        list("Anchors", &view.anchors);
        list("Notes", &view.notes);
        list("Commits", &view.commits);
        if !view.archives.is_empty() {
            title("Archives");
            view.archives
                .iter()
                .for_each(|file| app.ui.print_line(format!("  {file}")));
        }
        // Not an error: stamps are minutes, and most minutes have nothing.
        if view.is_empty() {
            app.ui
                .print_message(format!("nothing found with stamp {}", view.stamp));
        }
        Ok(ExitCode::Done)
    }
}
