//! `tl ui`: the inbox and the tree in the terminal.

use application::Failure;
use clap::Args;

use crate::exit_code::ExitCode;
use crate::settings;
use crate::terminal_ui::run_terminal_ui;
use crate::wiring::App;

/// Decide about plans in the terminal, with the keys of the dashboard
///
/// The left side lists what waits for you, grouped by cause; the right side shows what changed since
/// the last approval, or the whole text. Every decision is bound to the text on the screen. `?`
/// lists the keys.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl ui\n  tl --project novel ui")]
pub(crate) struct UiArgs {}

impl UiArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let project = app.find_project()?;
        if app.ui.json || !settings::is_at_interactive_terminal() {
            return Err(
                Failure::refused("`tl ui` needs a terminal for input and output")
                    .with_step("tl status   # the same list as text")
                    .with_step("tl status --json"),
            );
        }
        run_terminal_ui(&project.tighten_by_pins())?;
        Ok(ExitCode::Done)
    }
}
