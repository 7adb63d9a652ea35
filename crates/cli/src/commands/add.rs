//! `tl add`: adds a plan at the end of its parent.

use application::Failure;
use application::shape::ShapeChange;
use clap::Args;

use super::shape_outcome::{ShapeOptions, separate_option_words};
use crate::completion::node_option_completer;
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
  tl add ticket --under 017 --title \"Speed\"
  tl add scenario --under 017a --title \"A line is counted\"
  tl add act")]
pub(crate) struct AddArgs {
    /// The level of the plan: act, chapter, scene, ticket, scenario …
    #[arg(num_args = 0..=1, value_name = "LEVEL")]
    level: Vec<String>,

    /// The parent [default: the only possible one]
    #[arg(long, num_args = 1..=2, value_name = "NODE", add = node_option_completer())]
    under: Vec<String>,

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
        let (level, under) = separate_option_words(&self.level, &self.under);
        // Optional for clap, because `--under act-1 chapter` gives the level to the option.
        let [level] = level.as_slice() else {
            return Err(Failure::invalid(
                "a plan of which level? `tl tree` shows the levels in use",
            )
            .with_step("tl add chapter --under act-1"));
        };
        let change = ShapeChange::Add {
            level: level.clone(),
            under,
            name: self.name.clone(),
            title: self.title.clone(),
        };
        self.options.run_change(app, change)
    }
}
