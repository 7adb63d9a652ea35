//! `tl undo`: reverts operations.

use application::Failure;
use application::undo::{UndoTarget, undo_operations};
use clap::Args;
use domain::ids::OperationId;

use super::approve::print_transitions;
use crate::completion::operation_completer;
use crate::exit_code::ExitCode;
use crate::ui::{DIM, WARN, styled};
use crate::wiring::App;

/// Undo the last decision, or a given operation
///
/// An undo is an operation itself, and can be undone. Plan files that the operation changed are
/// reverted; their current text is kept as a version.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl undo          undo the last approval, restore, …\n  tl undo 12       undo operation 12 only\n  tl undo --to 8   undo everything after operation 8"
)]
pub(crate) struct UndoArgs {
    /// Number of the operation in `tl log`
    #[arg(value_name = "OP", add = operation_completer())]
    operation: Option<u64>,

    /// Undo everything after this operation
    #[arg(long, value_name = "OP", conflicts_with = "operation", add = operation_completer())]
    to: Option<u64>,
}

impl UndoArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let target = match (self.operation, self.to) {
            (Some(operation), _) => UndoTarget::Operation(OperationId(operation)),
            (None, Some(to)) => UndoTarget::BackTo(OperationId(to)),
            // The newest decision, not the newest operation: observed edits of files are not undone
            // by this.
            (None, None) => UndoTarget::Newest,
        };
        let outcome = app.run(|ctx| undo_operations(ctx, target))?;
        if app.ui.try_print_json(&outcome) {
            return Ok(ExitCode::Done);
        }
        for operation in &outcome.undone {
            app.ui.print_success(format_args!(
                "undone: {} ({})",
                operation.summary, operation.operation
            ));
        }
        for file in &outcome.files {
            app.ui.print_line(format_args!("  reverted: {file}"));
        }
        // A file that was edited after the operation is not overwritten: the edit is newer than
        // what is undone.
        for file in &outcome.kept_files {
            app.ui.print_line(format_args!(
                "  {} {} was changed since and is not reverted",
                styled(WARN, "kept:"),
                file
            ));
        }
        print_transitions(app.ui, &outcome.changed_entities);
        app.ui.print_line(styled(
            DIM,
            format!("  to redo: tl undo {}", outcome.operation),
        ));
        Ok(ExitCode::Done)
    }
}
