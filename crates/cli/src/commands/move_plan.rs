//! `tl move --was`: records that a plan is a former one at another place.

use application::Failure;
use application::move_node::{MoveRequest, move_node};
use clap::Args;

use crate::completion::node_completer;
use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Record that a plan was moved, where that is not certain from its text
///
/// A plan file that is moved or renamed keeps its node by itself when its text is the same. After a
/// move with many edits, or of one of several identical stubs, this says which plan it was: its
/// versions, approval, comments and progress are taken over. Files are not touched.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl move --was chapter-03 chapter-05
  tl move --was act-1/chapter-03 acts/act-2/chapters/chapter-01/plan.md")]
pub(crate) struct MovePlanArgs {
    /// The former plan, by its name or its file
    #[arg(long, value_name = "OLD", required = true)]
    was: String,

    /// The plan it is now, by its name or its file
    #[arg(required = true, num_args = 1..=2, value_name = "NEW", add = node_completer())]
    new: Vec<String>,
}

impl MovePlanArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let request = MoveRequest {
            was: self.was.clone(),
            now: self.new.clone(),
        };
        let outcome = app.run(|ctx| move_node(ctx, &request))?;
        if !app.ui.try_print_json(&outcome) {
            app.ui.print_success(format_args!(
                "{} is the former {} ({})",
                outcome.node.path, outcome.was, outcome.node.status
            ));
        }
        Ok(ExitCode::Done)
    }
}
