//! `tl where`: prints the position of the session.

use application::Failure;
use application::where_am_i::{where_am_i, where_flat, where_if_focused};
use clap::Args;

use crate::exit_code::ExitCode;
use crate::ui::{DIM, WARN, styled};
use crate::wiring::App;

/// Show the position of this session
///
/// In one line: `017 › 017a › threshold-gate [green] 1/3 · 234/400 loc`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl where\n  tl where --short         # for a shell prompt\n  tl where --flat --json   # for tools that know one active item"
)]
pub(crate) struct WhereArgs {
    /// The position in one line, for a shell prompt; nothing without a focus, outside a project or on
    /// an error
    #[arg(long, conflicts_with = "flat")]
    short: bool,

    /// The first line alone; with --json only the fields of the active item
    #[arg(long)]
    flat: bool,
}

impl WhereArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        if self.short {
            return Ok(print_short_line(app));
        }
        // A small fixed schema for shell prompts and editors, which know a single active item.
        if self.flat && app.ui.json {
            app.ui.print_json(&app.run(where_flat)?);
            return Ok(ExitCode::Done);
        }
        let view = app.run(where_am_i)?;
        if app.ui.try_print_json(&view) {
            return Ok(ExitCode::Done);
        }
        app.ui.print_line(&view.line);
        if self.flat {
            return Ok(ExitCode::Done);
        }
        if let Some(absent) = &view.absent {
            app.ui.print_line(absent);
        }
        if !view.claims.is_empty() {
            let held = format!("holds {}", view.claims.join(", "));
            app.ui.print_line(styled(DIM, held));
        }
        if let Some(gate) = &view.gate {
            let reason = &gate.reason;
            app.ui.print_line(format_args!(
                "{} {}: {reason}",
                styled(WARN, "gate"),
                gate.r#type
            ));
            for step in &gate.next_steps {
                app.ui.print_line(format_args!("  next: {step}"));
            }
        }
        for (root, known) in view
            .roots
            .iter()
            .filter(|(root, _)| Some(*root) != view.active_root.as_ref())
        {
            let at = known
                .stack
                .last()
                .and_then(|item| item.id.as_deref().or(item.scenario.as_deref()))
                .unwrap_or(root);
            app.ui
                .print_line(styled(DIM, format!("parked: {root} at {at}")));
        }
        if let Some(note) = &view.note {
            app.ui.print_line(styled(DIM, note));
        }
        Ok(ExitCode::Done)
    }
}

/// Prints the position for a shell prompt. Files are not scanned: a prompt must not be slow, nor record
/// changes before the session that made them is told.
fn print_short_line(app: &App) -> ExitCode {
    // An error would be printed into every prompt of the shell.
    if let Ok(Some(view)) = app.run(where_if_focused) {
        app.ui.print_line(&view.line);
    }
    ExitCode::Done
}
