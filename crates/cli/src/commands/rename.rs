//! `tl rename`: gives a plan another name.

use application::Failure;
use application::shape::ShapeChange;
use clap::Args;

use super::shape_outcome::ShapeOptions;
use crate::completion::node_completer;
use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Give a plan another name or number, which must be free
///
/// The alias changes, with the files of the plan, of everything below it, and the references to them. The
/// title is in the plan's text: edit it there.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl rename chapter 0 prologue
  tl rename act-1/chapter-09 interlude-04")]
pub(crate) struct RenameArgs {
    /// The plan, and its new name, number or id
    #[arg(required = true, num_args = 2..=3, value_names = ["NODE", "NAME"], add = node_completer())]
    words: Vec<String>,

    #[command(flatten)]
    options: ShapeOptions,
}

impl RenameArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        // The last word is the name: a node may have two.
        let (name, node) = self
            .words
            .split_last()
            .ok_or_else(|| Failure::invalid("which plan gets which name?"))?;
        let change = ShapeChange::Renumber {
            node: node.to_vec(),
            id: Some(name.clone()),
        };
        self.options.run_change(app, change)
    }
}
