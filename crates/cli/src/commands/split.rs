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
///
/// A ticket has an id and no position: its second part becomes a child ticket, and `--title` without
/// `--at` makes one child ticket for each title.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl split scene-0102 --at \"The door opens\" --title \"The door\"
  tl split chapter-02 --at \"Scenes at sea\" --from scene-0203
  tl split 017 --at \"Speed\"                               a child ticket with that part
  tl split 017 --title \"Index\" --title \"Ranks\"          two child tickets")]
pub(crate) struct SplitArgs {
    /// The plan
    #[arg(required = true, num_args = 1..=2, value_name = "NODE", add = node_completer())]
    node: Vec<String>,

    /// The heading at which the second part begins, or its line number
    #[arg(long, value_name = "HEADING")]
    at: Option<String>,

    /// The title of the new plan
    #[arg(long = "title", value_name = "TITLE")]
    titles: Vec<String>,

    /// The first child that goes to the new plan
    #[arg(long = "from", value_name = "CHILD", add = node_option_completer())]
    children_from: Option<String>,

    #[command(flatten)]
    options: ShapeOptions,
}

impl SplitArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        self.options.run_change(app, self.to_change()?)
    }

    fn to_change(&self) -> Result<ShapeChange, Failure> {
        let (node, name) = (self.node.clone(), self.node.join(" "));
        match (&self.at, self.titles.as_slice()) {
            (Some(at), [] | [_]) => Ok(ShapeChange::Split {
                node,
                at: at.clone(),
                title: self.titles.first().cloned(),
                children_from: self.children_from.clone(),
            }),
            (Some(_), _) => Err(Failure::invalid(
                "`--at` makes one new plan, which has one title",
            )),
            (None, []) => Err(Failure::invalid(format!("where should `{name}` be split?"))
                .with_step(format!("tl split {name} --at HEADING"))
                .with_step(format!("tl ticket split {name} TITLE   # a ticket"))),
            (None, _) if self.children_from.is_some() => {
                Err(Failure::invalid("`--from` needs `--at`"))
            }
            (None, titles) => Ok(ShapeChange::SplitInto {
                node,
                titles: titles.to_vec(),
            }),
        }
    }
}
