//! `tl split`: splits a plan in two.

use application::Failure;
use application::shape::ShapeChange;
use clap::Args;

use super::shape_outcome::ShapeOptions;
use crate::completion::{node_completer, node_option_completer};
use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Split a plan in two, at a heading or a line
///
/// The text from there on becomes a new plan right after this one; both are drafts. Children from
/// `--from` on go to the new plan.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl split scene-0102 --at \"The door opens\" --title \"The door\"
  tl split chapter-02 --at \"Scenes at sea\" --from scene-0203")]
pub(crate) struct SplitArgs {
    /// The plan
    #[arg(required = true, num_args = 1..=2, value_name = "NODE", add = node_completer())]
    node: Vec<String>,

    /// The heading at which the second part begins, or its line number
    #[arg(long, value_name = "HEADING")]
    at: String,

    /// The title of the new plan
    #[arg(long, value_name = "TITLE")]
    title: Option<String>,

    /// The first child that goes to the new plan
    #[arg(long = "from", value_name = "CHILD", add = node_option_completer())]
    children_from: Option<String>,

    #[command(flatten)]
    options: ShapeOptions,
}

impl SplitArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let change = ShapeChange::Split {
            node: self.node.clone(),
            at: self.at.clone(),
            title: self.title.clone(),
            children_from: self.children_from.clone(),
        };
        self.options.run_change(app, change)
    }
}
