//! `tl add`: adds a plan at the end of its parent.

use application::Failure;
use application::shape::ShapeChange;
use clap::Args;

use super::shape_outcome::ShapeOptions;
use crate::completion::node_completer;
use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Add a plan: the next number below a parent, or a name such as `prologue`
///
/// The file is created with a heading like its siblings' and the outline of its level, as a draft. One
/// operation that `tl undo` reverts.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl add chapter --under act-1 --title \"The storm\"
  tl add chapter --under act-1 --name prologue
  tl add act")]
pub(crate) struct AddArgs {
    /// The level of the plan: act, chapter, scene …
    #[arg(value_name = "LEVEL")]
    level: String,

    /// The parent [default: the only possible one]
    #[arg(long, value_name = "NODE", add = node_completer())]
    under: Option<String>,

    /// A name instead of the next number: prologue, interlude-04, epilogue
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// The title in its heading
    #[arg(long, value_name = "TITLE")]
    title: Option<String>,

    #[command(flatten)]
    options: ShapeOptions,
}

impl AddArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let change = ShapeChange::Add {
            level: self.level.clone(),
            under: self.under.clone(),
            name: self.name.clone(),
            title: self.title.clone(),
        };
        self.options.run_change(app, change)
    }
}
