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
  tl rename chapter-00 prologue
  tl rename act-1/chapter-09 interlude-04")]
pub(crate) struct RenameArgs {
    /// The plan
    #[arg(value_name = "NODE", add = node_completer())]
    node: String,

    /// Its new name, number or id
    #[arg(value_name = "NAME")]
    name: String,

    #[command(flatten)]
    options: ShapeOptions,
}

impl RenameArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let change = ShapeChange::Renumber {
            node: vec![self.node.clone()],
            id: Some(self.name.clone()),
        };
        self.options.run_change(app, change)
    }
}
