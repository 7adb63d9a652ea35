//! `tl conflicts`: operations recorded offline that do not fit the team's history.

use application::Failure;
use application::conflicts::{
    ConflictView, drop_conflict, list_conflicts, retry_conflict, show_conflict,
};
use clap::{Args, Subcommand};

use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, GOOD, Ui, WARN, styled};
use crate::wiring::App;

/// List, retry or drop what was recorded offline and conflicts with the team
///
/// While the server cannot be reached, operations are queued. Once it answers they are sent; what
/// others changed in the meantime comes first. An operation that does not fit any more is kept here,
/// with its texts, until you decide.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl conflicts list\n  tl conflicts show 3f2a\n  tl conflicts retry 3f2a\n  tl conflicts drop 3f2a"
)]
pub(crate) struct ConflictsArgs {
    #[command(subcommand)]
    what: ConflictsCommand,
}

#[derive(Debug, Subcommand)]
enum ConflictsCommand {
    /// List the conflicts, oldest first
    List,
    /// Show one conflict with its texts
    Show(ConflictArgs),
    /// Record the operation again, on the state as it is now
    Retry(ConflictArgs),
    /// Delete the conflict; files of plans are not touched
    Drop(ConflictArgs),
}

#[derive(Debug, Args)]
struct ConflictArgs {
    /// Id of the conflict, or its beginning
    #[arg(value_name = "ID")]
    id: String,
}

impl ConflictsArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        match &self.what {
            ConflictsCommand::List => {
                let conflicts = app.run(list_conflicts)?;
                if app.ui.json {
                    app.ui.print_json(&conflicts);
                } else if conflicts.is_empty() {
                    app.ui.print_message("no conflicts");
                } else {
                    conflicts.iter().for_each(|one| print_conflict(app.ui, one));
                }
            }
            ConflictsCommand::Show(args) => {
                let conflict = app.run(|ctx| show_conflict(ctx, &args.id))?;
                if !app.ui.try_print_json(&conflict) {
                    print_conflict(app.ui, &conflict);
                    for text in &conflict.texts {
                        app.ui.print_blank_line();
                        app.ui.print_line(text);
                    }
                }
            }
            ConflictsCommand::Retry(args) => {
                let outcome = app.run(|ctx| retry_conflict(ctx, &args.id))?;
                if !app.ui.try_print_json(&outcome) {
                    app.ui.print_line(format_args!(
                        "{} {} (operation {})",
                        styled(GOOD, "recorded"),
                        outcome.conflict.summary,
                        outcome.operation
                    ));
                }
            }
            ConflictsCommand::Drop(args) => {
                let conflict = app.run(|ctx| drop_conflict(ctx, &args.id))?;
                if !app.ui.try_print_json(&conflict) {
                    app.ui.print_line(format_args!(
                        "{} {}",
                        styled(WARN, "dropped"),
                        conflict.summary
                    ));
                }
            }
        }
        Ok(ExitCode::Done)
    }
}

fn print_conflict(ui: Ui, conflict: &ConflictView) {
    ui.print_line(format_args!(
        "{}  {}",
        styled(BOLD, &conflict.id),
        conflict.summary
    ));
    let about = format!(
        "    {}, {}: {}",
        conflict.by,
        conflict.at.format_local_minute(),
        conflict.why
    );
    ui.print_line(styled(DIM, &about));
}
