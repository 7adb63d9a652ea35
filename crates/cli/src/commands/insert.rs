//! `tl insert`: inserts a plan among its siblings.

use application::Failure;
use application::shape::ShapeChange;
use clap::Args;

use super::shape_outcome::{ShapeOptions, separate_option_words};
use crate::completion::{node_completer, node_option_completer};
use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Insert a plan; the ones from there on get the next number
///
/// Files and folders are renamed up to the next free number, references in plan files are rewritten, and
/// everything attached follows: versions, approvals, comments, progress, claims, prose. One operation
/// that `tl undo` reverts.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl insert chapter 4 --title \"The storm\"
  tl insert act-1/chapter-04 --after --dry-run")]
pub(crate) struct InsertArgs {
    /// The place of the new plan: `chapter 4`, `act-1/chapter-04`
    #[arg(num_args = 0..=2, value_name = "PLACE", add = node_completer())]
    place: Vec<String>,

    /// After the plan that is there, instead of in its place
    #[arg(long)]
    after: bool,

    /// The parent, where several have a plan of that number
    #[arg(long, num_args = 1..=2, value_name = "NODE", add = node_option_completer())]
    under: Vec<String>,

    /// The title in its heading
    #[arg(long, value_name = "TITLE")]
    title: Option<String>,

    #[command(flatten)]
    options: ShapeOptions,
}

impl InsertArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let (place, under) = separate_option_words(&self.place, &self.under);
        let change = ShapeChange::Insert {
            place,
            under,
            after: self.after,
            title: self.title.clone(),
        };
        self.options.run_change(app, change)
    }
}
