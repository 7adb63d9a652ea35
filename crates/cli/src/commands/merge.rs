//! `tl merge`: merges a plan into another one.

use application::Failure;
use application::shape::ShapeChange;
use clap::Args;

use super::shape_outcome::ShapeOptions;
use crate::completion::node_completer;
use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Merge a plan into another one of its level
///
/// Its text and prose are appended, its children and open comments go along, and references to it mean
/// the other plan from then on.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl merge scene-0103 scene-0102
  tl merge act-1/chapter-05 act-1/chapter-04 --dry-run")]
pub(crate) struct MergeArgs {
    /// The plan that goes
    #[arg(value_name = "NODE", add = node_completer())]
    node: String,

    /// The plan it becomes a part of
    #[arg(value_name = "INTO", add = node_completer())]
    into: String,

    #[command(flatten)]
    options: ShapeOptions,
}

impl MergeArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let change = ShapeChange::Merge {
            node: vec![self.node.clone()],
            into: vec![self.into.clone()],
        };
        self.options.run_change(app, change)
    }
}
