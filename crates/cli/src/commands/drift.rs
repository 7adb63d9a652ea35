//! `tl trail drift`: prints the drift score of a session.

use application::Failure;
use application::sessions::check_drift::check_drift;
use clap::Args;
use domain::detection::Signal;

use crate::exit_code::ExitCode;
use crate::ui::{BOLD, WARN, styled};
use crate::wiring::App;

/// Show how far this session has drifted from its trail
///
/// 100 means no drift. The counters are updated by the hooks, after each tool call.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl trail drift\n  tl trail drift --json")]
pub(crate) struct DriftArgs {}

impl DriftArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let view = app.run(check_drift)?;
        if app.ui.try_print_json(&view) {
            return Ok(ExitCode::Done);
        }
        let uses = view.tool_type_counts;
        app.ui.print_line(format_args!(
            "{} {} of 100",
            styled(BOLD, "on track:"),
            view.drift_score
        ));
        app.ui.print_line(format!(
            "{} calls ({} read, {} write, {} query, {} trail), {} since the last checkpoint, {} failed in a row",
            view.turn_count,
            uses.read,
            uses.write,
            uses.query,
            uses.governance,
            view.section_turns,
            view.consecutive_failures
        ));
        print_signals(app, &view.signals);
        Ok(ExitCode::Done)
    }
}

pub(super) fn print_signals(app: &App, signals: &[Signal]) {
    for signal in signals {
        let (text, next) = (&signal.text, signal.next_step);
        app.ui.print_line(format_args!(
            "{} {text}. {next}",
            styled(WARN, signal.kind.as_str())
        ));
    }
}
