//! `tl renumber`: gives a plan another number or id.

use application::Failure;
use application::shape::ShapeChange;
use clap::Args;

use super::shape_outcome::{ShapeOptions, split_node_words};
use crate::completion::node_completer;
use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Give a plan another number or id, or close the gaps below it
///
/// Folders, the ids below that continue it, and every reference follow. One operation that `tl undo`
/// reverts, files included. Of two tickets with one id, the one shown as `002~2` is usually renumbered.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl renumber 002~2
  tl renumber 002 017 --dry-run
  tl renumber chapter 5 7
  tl renumber act-1 --children
  tl renumber --children        # acts, or the chapters of a book without acts")]
pub(crate) struct RenumberArgs {
    /// The plan, and its new number or id [default: the next free id, for tickets]; with `--children`
    /// and without a plan, the plans at the top are numbered
    #[arg(required_unless_present = "children", num_args = 0..=3, value_names = ["NODE", "ID"], add = node_completer())]
    words: Vec<String>,

    /// Number the plans directly below it without gaps
    #[arg(long)]
    children: bool,

    #[command(flatten)]
    options: ShapeOptions,
}

impl RenumberArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let (node, rest) = match self.words.as_slice() {
            [] => (Vec::new(), Vec::new()),
            words => split_node_words(words, &app.find_project()?.profiles)?,
        };
        let change = match (self.children, rest.as_slice()) {
            (true, []) => ShapeChange::CloseGaps { node },
            (false, []) => ShapeChange::Renumber { node, id: None },
            (false, [id]) => ShapeChange::Renumber {
                node,
                id: Some(id.clone()),
            },
            (_, [.., word]) => {
                return Err(Failure::invalid(format!("unexpected argument `{word}`")));
            }
        };
        self.options.run_change(app, change)
    }
}
