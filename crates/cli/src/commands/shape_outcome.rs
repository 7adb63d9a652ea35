//! Output of commands that change the shape of a tree, and the options they share.

use application::Failure;
use application::shape::{ChangeShapeRequest, ShapeChange, ShapeOutcome, change_shape};
use clap::Args;

use crate::exit_code::ExitCode;
use crate::ui::{DIM, Ui, styled};
use crate::wiring::App;

/// Options of every command that changes the shape of a tree.
#[derive(Debug, Args)]
pub(super) struct ShapeOptions {
    /// List every file and every status that would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

impl ShapeOptions {
    pub(super) fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// Runs a change and prints what it did, or would do.
    pub(super) fn run_change(&self, app: &App, change: ShapeChange) -> Result<ExitCode, Failure> {
        let request = ChangeShapeRequest {
            change,
            dry_run: self.dry_run,
        };
        let outcome = app.run(|ctx| change_shape(ctx, &request))?;
        if !app.ui.try_print_json(&outcome) {
            print_outcome(app.ui, &outcome);
        }
        Ok(ExitCode::Done)
    }
}

fn print_outcome(ui: Ui, outcome: &ShapeOutcome) {
    match outcome.dry_run {
        true => ui.print_success(format_args!("would {}", outcome.summary)),
        false => ui.print_success(format_args!("{}", outcome.summary)),
    }
    for one in &outcome.renamed {
        ui.print_line(format_args!("  {} → {}", one.was, one.path));
    }
    for path in &outcome.removed {
        ui.print_line(format_args!("  {path} is removed"));
    }
    let dim = |line: String| ui.print_line(styled(DIM, line));
    for file in &outcome.created_files {
        dim(format!("  new      {file}"));
    }
    for file in &outcome.moved_files {
        dim(format!("  moved    {} → {}", file.was, file.path));
    }
    for file in &outcome.changed_files {
        dim(format!("  changed  {file}"));
    }
    for file in &outcome.removed_files {
        dim(format!("  removed  {file}"));
    }
    for change in &outcome.changed_entities {
        ui.print_line(format_args!(
            "  {} {} → {}",
            change.path,
            change.previous_status.label(),
            change.new_status.label()
        ));
    }
    if let (Some(operation), false) = (outcome.operation, outcome.dry_run) {
        dim(format!("  to take it back: tl undo {operation}"));
    }
}
