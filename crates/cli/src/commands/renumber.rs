//! `tl renumber`: gives a ticket another id.

use application::Failure;
use application::renumber::{IdChangeView, RenumberOutcome, RenumberRequest, renumber_node};
use application::views::TransitionView;
use clap::Args;

use crate::completion::node_completer;
use crate::exit_code::ExitCode;
use crate::ui::{DIM, Ui, styled};
use crate::wiring::App;

/// Give a ticket another id, with its folder, its children's ids and all references
///
/// One operation that `tl undo` reverts, files included. History, comments, claims and progress stay
/// with the ticket. Of two tickets with one id, the one shown as `002~2` is usually renumbered.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl renumber 002~2
  tl renumber 002 017 --dry-run")]
pub(crate) struct RenumberArgs {
    /// The ticket
    #[arg(required = true, value_name = "NODE", add = node_completer())]
    node: String,

    /// The new id [default: the next free one]
    #[arg(value_name = "ID")]
    id: Option<String>,

    /// List the files and statuses that would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

impl RenumberArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let request = RenumberRequest {
            node: vec![self.node.clone()],
            id: self.id.clone(),
            dry_run: self.dry_run,
        };
        let outcome = app.run(|ctx| renumber_node(ctx, &request))?;
        if !app.ui.try_print_json(&outcome) {
            print_outcome(app.ui, &outcome);
        }
        Ok(ExitCode::Done)
    }
}

fn print_outcome(ui: Ui, outcome: &RenumberOutcome) {
    let verb = match outcome.dry_run {
        true => "would become",
        false => "became",
    };
    ui.print_success(format_args!("{} {verb} {}", outcome.was, outcome.id));
    print_changed_ids(ui, &outcome.ids);
    print_changed_files(ui, outcome);
    print_changed_statuses(ui, &outcome.changed_entities);
}

/// Prints the ids of the tickets below; the ticket's own is in the first line.
fn print_changed_ids(ui: Ui, ids: &[IdChangeView]) {
    for change in ids.iter().skip(1) {
        ui.print_line(format_args!("  {} → {}", change.was, change.id));
    }
}

fn print_changed_files(ui: Ui, outcome: &RenumberOutcome) {
    for file in &outcome.moved_files {
        let line = format!("  moved    {} → {}", file.was, file.path);
        ui.print_line(styled(DIM, line));
    }
    for file in &outcome.changed_files {
        ui.print_line(styled(DIM, format!("  changed  {file}")));
    }
}

fn print_changed_statuses(ui: Ui, changed: &[TransitionView]) {
    for change in changed {
        ui.print_line(format_args!(
            "  {} {} → {}",
            change.path,
            change.previous_status.label(),
            change.new_status.label()
        ));
    }
}
