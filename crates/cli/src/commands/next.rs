//! `tl next`: lists nodes that are ready to work on.

use application::Failure;
use application::next_work::list_next_work;
use clap::Args;

use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, styled, title_suffix};
use crate::wiring::App;

/// List what is ready to work on
///
/// A node is ready if it is approved, not complete, its dependencies are complete, and no open work
/// is below it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl next\n  tl next --json")]
pub(crate) struct NextArgs {}

impl NextArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let view = app.run(list_next_work)?;
        if app.ui.try_print_json(&view) {
            return Ok(ExitCode::Done);
        }
        for ready in &view.ready {
            let title = title_suffix(ready.title.as_deref());
            app.ui
                .print_line(format_args!("{}{title}", styled(BOLD, &ready.path)));
            app.ui
                .print_line(format_args!("    {}", styled(DIM, &ready.action)));
        }
        if view.ready.is_empty() {
            app.ui.print_message("nothing is ready; next: tl status");
        }
        // Circular or unknown dependencies hide nodes from this list, so they are reported with it.
        for problem in &view.problems {
            app.ui.print_warning(problem);
        }
        Ok(ExitCode::Done)
    }
}
