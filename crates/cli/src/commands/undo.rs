//! `tl undo`: reverts operations.

use application::Failure;
use application::undo::{UndoOutcome, UndoTarget, preview_undo, undo_operations};
use clap::Args;
use domain::ids::OperationId;
use domain::text::count_with_noun;

use super::approve::print_transitions;
use crate::completion::operation_completer;
use crate::exit_code::ExitCode;
use crate::settings;
use crate::ui::{DIM, Ui, WARN, styled};
use crate::wiring::App;

/// Undo your last decision or change of shape, or a given operation
///
/// An undo is an operation itself, and can be undone. Plan files that the operation changed are
/// reverted; their current text is kept as a version. On a terminal it asks first if more than five
/// plans change.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl undo            undo your last approval, move, restore, …\n  tl undo --dry-run  show what that would be\n  tl undo 12         undo operation 12 only\n  tl undo --to 8     undo everything after operation 8"
)]
pub(crate) struct UndoArgs {
    /// Number of the operation in `tl log`
    #[arg(value_name = "OP", add = operation_completer())]
    operation: Option<u64>,

    /// Undo everything after this operation
    #[arg(long, value_name = "OP", conflicts_with = "operation", add = operation_completer())]
    to: Option<u64>,

    /// Show what would be undone, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Do not ask, however many plans change
    #[arg(long, short)]
    yes: bool,
}

/// Number of plans up to which an undo on a terminal does not ask.
const MAX_UNASKED_NODES: usize = 5;

impl UndoArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let mut target = match (self.operation, self.to) {
            (Some(operation), _) => UndoTarget::Operation(OperationId(operation)),
            (None, Some(to)) => UndoTarget::BackTo(OperationId(to)),
            // The newest decision, not the newest operation: observed edits of files are not undone
            // by this.
            (None, None) => UndoTarget::Newest,
        };
        // A script has nobody to answer, and everything can be undone again.
        let asks = !self.yes && !app.ui.json && settings::is_at_terminal();
        if self.dry_run || asks {
            let preview = app.run(|ctx| preview_undo(ctx, target))?;
            if self.dry_run {
                if !app.ui.try_print_json(&preview) {
                    print_preview(app.ui, &preview);
                }
                return Ok(ExitCode::Done);
            }
            if preview.changed_nodes > MAX_UNASKED_NODES {
                print_preview(app.ui, &preview);
                confirm_undo(preview.changed_nodes)?;
                // Exactly what was shown, also if something was decided meanwhile.
                target = match (target, preview.undone.as_slice()) {
                    (UndoTarget::Newest, [one]) => UndoTarget::Operation(one.operation),
                    (UndoTarget::BackTo(to), _) => UndoTarget::BackToAsShown(to, preview.operation),
                    (target, _) => target,
                };
            }
        }
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

/// Prints what an undo would do.
fn print_preview(ui: Ui, preview: &UndoOutcome) {
    for operation in &preview.undone {
        ui.print_line(format_args!(
            "would undo: {} ({}), by {}",
            operation.summary, operation.operation, operation.by
        ));
    }
    ui.print_line(format_args!(
        "  {} would change",
        count_with_noun(preview.changed_nodes, "plan", "plans")
    ));
    for file in &preview.files {
        ui.print_line(styled(DIM, format!("  {file}")));
    }
    print_transitions(ui, &preview.changed_entities);
}

/// Asks a person on a terminal whether to go on.
fn confirm_undo(plans: usize) -> Result<(), Failure> {
    let plans = count_with_noun(plans, "plan", "plans");
    Ui::default().print_message(format_args!("Undo this, for {plans}? [y/N]"));
    match settings::read_yes_or_no() {
        true => Ok(()),
        false => Err(Failure::refused("nothing was undone")
            .with_step("tl undo --yes")
            .with_step("tl log   # to choose another operation: tl undo OP")),
    }
}
