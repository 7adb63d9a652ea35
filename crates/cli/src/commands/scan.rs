//! `tl trail scan`: prints the trail with the session's cursor.

use application::Failure;
use application::sessions::scan_hierarchy::scan_hierarchy;
use clap::Args;
use domain::time::format_duration;

use crate::exit_code::ExitCode;
use crate::ui::{DIM, WARN, styled};
use crate::wiring::App;

/// Show the trail with the cursor of this session
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl trail scan\n  tl trail scan --json   # version, root, cursor"
)]
pub(crate) struct ScanArgs {}

impl ScanArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let view = app.run(scan_hierarchy)?;
        if app.ui.try_print_json(&view) {
            return Ok(ExitCode::Done);
        }
        if view.tree.is_empty() {
            app.ui.print_message(
                "the trail is empty; next: tl trail intent \"what this session is for\"",
            );
            return Ok(ExitCode::Done);
        }
        for line in view.tree.lines() {
            app.ui.print_line(line);
        }
        // A long gap means that the context in which the older nodes were written is probably
        // stale.
        for gap in &view.gaps {
            let span = format_duration(gap.millis);
            app.ui.print_line(format_args!(
                "{} {span} between {} and {}",
                styled(WARN, "gap"),
                gap.from,
                gap.to
            ));
        }
        // A session that has not declared an intent sees the trail of the last one.
        if !view.own {
            let whose = view.session.as_deref().unwrap_or_default();
            app.ui.print_line(styled(
                DIM,
                format!("of session {whose}; `tl trail map` resumes it"),
            ));
        }
        Ok(ExitCode::Done)
    }
}
