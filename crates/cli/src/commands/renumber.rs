//! `tl renumber`: gives a plan another number or id.

use application::Failure;
use application::shape::ShapeChange;
use clap::Args;

use super::shape_outcome::ShapeOptions;
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
  tl renumber act-1 --children")]
pub(crate) struct RenumberArgs {
    /// The plan
    #[arg(required = true, value_name = "NODE", add = node_completer())]
    node: String,

    /// The new number or id [default: the next free id, for tickets]
    #[arg(value_name = "ID")]
    id: Option<String>,

    /// Number the plans directly below it without gaps
    #[arg(long, conflicts_with = "id")]
    children: bool,

    #[command(flatten)]
    options: ShapeOptions,
}

impl RenumberArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let change = match self.children {
            true => ShapeChange::CloseGaps {
                node: vec![self.node.clone()],
            },
            false => ShapeChange::Renumber {
                node: vec![self.node.clone()],
                id: self.id.clone(),
            },
        };
        self.options.run_change(app, change)
    }
}
