//! `tl undo`

use application::Failure;
use application::undo::{UndoTarget, undo};
use clap::Args;
use domain::ids::OperationId;

use super::approve::print_transitions;
use crate::exit_code::ExitCode;
use crate::ui::{DIM, GOOD, WARN, styled};
use crate::wiring::App;

/// Take back the last decision, or a given operation
///
/// An undo is an operation too: undoing it brings the first one back. Plan files that the operation
/// changed are changed back; what is in them now is kept as a version.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl undo          the last approval, restore, …\n  tl undo 12       just operation 12\n  tl undo --to 8   everything after operation 8"
)]
pub(crate) struct UndoArgs {
    /// The operation, as `tl log` numbers it
    #[arg(value_name = "OP")]
    operation: Option<u64>,

    /// Take back everything after this operation
    #[arg(long, value_name = "OP", conflicts_with = "operation")]
    to: Option<u64>,
}

impl UndoArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let target = match (self.operation, self.to) {
            (Some(operation), _) => UndoTarget::Operation(OperationId(operation)),
            (None, Some(to)) => UndoTarget::BackTo(OperationId(to)),
            (None, None) => UndoTarget::Newest,
        };
        let outcome = app.run(|ctx| undo(ctx, target))?;
        if app.ui.json {
            app.ui.value(&outcome);
            return Ok(ExitCode::Done);
        }
        for operation in &outcome.undone {
            app.ui.line(format_args!(
                "{} undone: {} ({})",
                styled(GOOD, "✓"),
                operation.summary,
                operation.operation
            ));
        }
        for file in &outcome.files {
            app.ui.line(format_args!("  changed back: {file}"));
        }
        for file in &outcome.kept_files {
            app.ui.line(format_args!(
                "  {} {} was changed since and stays",
                styled(WARN, "kept:"),
                file
            ));
        }
        print_transitions(app.ui, &outcome.changed_entities);
        app.ui.line(styled(
            DIM,
            format!("  to have it back: tl undo {}", outcome.operation),
        ));
        Ok(ExitCode::Done)
    }
}
