//! `tl remove`: removes a plan.

use application::Failure;
use application::shape::ShapeChange;
use clap::Args;

use super::shape_outcome::ShapeOptions;
use crate::completion::node_completer;
use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Remove a plan with everything below it
///
/// Plan files and prose are deleted; the store keeps every version, and `tl undo` brings all of it back.
/// Other numbers stay: `tl renumber PARENT --children` closes the gap.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl remove scene-0104
  tl remove act-2 --dry-run")]
pub(crate) struct RemoveArgs {
    /// The plan
    #[arg(required = true, num_args = 1..=2, value_name = "NODE", add = node_completer())]
    node: Vec<String>,

    #[command(flatten)]
    options: ShapeOptions,
}

impl RemoveArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let change = ShapeChange::Remove {
            node: self.node.clone(),
        };
        self.options.run_change(app, change)
    }
}
