//! `tl next`

use application::Failure;
use application::next_work::next_work;
use clap::Args;
use domain::planning_prompt::clean_line;

use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, WARN, styled};
use crate::wiring::App;

/// List what is ready to be worked on
///
/// Ready is what is approved, not complete, waits for nothing it needs, and has nothing below it
/// that is still to be done.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl next\n  tl next --json")]
pub(crate) struct NextArgs {}

impl NextArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let view = app.run(next_work)?;
        if app.ui.json {
            app.ui.value(&view);
            return Ok(ExitCode::Done);
        }
        for ready in &view.ready {
            let title = ready.title.as_deref().map(|title| format!("  {}", clean_line(title))).unwrap_or_default();
            app.ui.line(format!("{}{title}", styled(BOLD, &clean_line(&ready.path))));
            app.ui.line(format!("    {}", styled(DIM, &clean_line(&ready.action))));
        }
        if view.ready.is_empty() {
            app.ui.say("nothing is ready; see what needs someone: tl status");
        }
        for problem in &view.problems {
            app.ui.say(format!("{}: {}", styled(WARN, "warning"), clean_line(problem)));
        }
        Ok(ExitCode::Done)
    }
}
