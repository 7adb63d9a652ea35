//! `tl trail back`: prints a retrospective of the session.

use application::Failure;
use application::sessions::think_back::think_back;
use clap::Args;

use super::drift::print_signals;
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, styled};
use crate::wiring::App;

/// Show a retrospective of the session: position, turning points, next action
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl trail back\n  tl trail back --json")]
pub(crate) struct ThinkBackArgs {}

impl ThinkBackArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let view = app.run(think_back)?;
        if app.ui.try_print_json(&view) {
            return Ok(ExitCode::Done);
        }
        if view.tree.is_empty() {
            app.ui.print_message(
                "the trail is empty; next: tl trail intent \"what this session is for\"",
            );
        }
        for line in view.tree.lines() {
            app.ui.print_line(line);
        }
        let list = |title: &str, lines: &[String]| {
            if !lines.is_empty() {
                app.ui.print_line(styled(BOLD, title));
                lines
                    .iter()
                    .for_each(|line| app.ui.print_line(format!("  {line}")));
            }
        };
        list("Turning points", &view.turning_points);
        list("Anchors", &view.anchors);
        list("Log", &view.log);
        if let Some(next) = &view.next_action {
            app.ui
                .print_line(format_args!("{} {}", styled(BOLD, "Next:"), next));
        }
        // Last, because it is what the agent should react to.
        print_signals(app, &view.signals);
        Ok(ExitCode::Done)
    }
}
