//! `tl merge`: merges a plan into another one.

use application::Failure;
use application::shape::ShapeChange;
use clap::Args;

use super::shape_outcome::{ShapeOptions, split_node_words};
use crate::completion::nodes_completer;
use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Merge a plan into another one of its level
///
/// Its text and prose are appended, its children and open comments go along, and references to it mean
/// the other plan from then on.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl merge scene-0103 scene-0102
  tl merge chapter 5 chapter 4
  tl merge act-1/chapter-05 act-1/chapter-04 --dry-run")]
pub(crate) struct MergeArgs {
    /// The plan that goes, and the plan it becomes a part of
    #[arg(required = true, num_args = 1..=4, value_names = ["NODE", "INTO"], add = nodes_completer(2))]
    nodes: Vec<String>,

    /// The plan it becomes a part of
    #[arg(long, num_args = 1..=2, value_name = "NODE", hide = true, add = nodes_completer(2))]
    into: Vec<String>,

    #[command(flatten)]
    options: ShapeOptions,
}

impl MergeArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let (node, into) = if self.into.is_empty() {
            // Both names have one word or two, so only the profiles tell where the first one ends.
            split_node_words(&self.nodes, &app.find_project()?.profiles)?
        } else {
            (self.nodes.clone(), self.into.clone())
        };
        if into.is_empty() {
            let name = node.join(" ");
            return Err(
                Failure::invalid(format!("into which plan should `{name}` be merged?"))
                    .with_step(format!("tl merge {name} NODE")),
            );
        }
        self.options
            .run_change(app, ShapeChange::Merge { node, into })
    }
}
