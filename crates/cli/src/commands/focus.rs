//! `tl focus`: moves the session's focus in the tree.

use application::Failure;
use application::move_focus::{FocusMove, FocusOutcome, move_focus};
use application::where_am_i::where_am_i;
use clap::{Args, Subcommand};

use super::NodeArgs;
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, WARN, styled};
use crate::wiring::App;

/// Move this session's focus: enter or exit a node, park or switch roots
///
/// Every session has its own focus. Exiting a complete node moves on to its next sibling, and
/// completes its parent when no open work is left below.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl focus enter 017a
  tl focus exit
  tl focus back 017
  tl focus park
  tl focus switch 045")]
pub(crate) struct FocusArgs {
    #[command(subcommand)]
    what: Option<FocusCommand>,
}

#[derive(Debug, Subcommand)]
enum FocusCommand {
    /// Enter a node; if it is in another root, the current root is parked
    Enter {
        #[command(flatten)]
        node: NodeArgs,
        /// Also claim it for this session
        #[arg(long)]
        claim: bool,
    },
    /// Exit the node: to its parent, or to the next sibling if it is complete
    Exit,
    /// Go back to a node visited before
    Back {
        #[command(flatten)]
        node: NodeArgs,
    },
    /// Park the current root
    Park,
    /// Switch to another root, at the position where it was parked
    Switch {
        #[command(flatten)]
        root: NodeArgs,
    },
}

impl FocusArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let request = match &self.what {
            None => {
                // Without a subcommand the present focus is the only sensible answer.
                let view = app.run(where_am_i)?;
                if app.ui.json {
                    app.ui.print_json(&view)
                } else {
                    app.ui.print_line(&view.line)
                }
                return Ok(ExitCode::Done);
            }
            Some(FocusCommand::Enter { node, claim }) => FocusMove::Enter {
                node: node.node.clone(),
                claim: *claim,
            },
            Some(FocusCommand::Exit) => FocusMove::Exit,
            Some(FocusCommand::Back { node }) => FocusMove::Back {
                node: node.node.clone(),
            },
            Some(FocusCommand::Park) => FocusMove::Park,
            Some(FocusCommand::Switch { root }) => FocusMove::Switch {
                root: root.node.clone(),
            },
        };
        let outcome = app.run(|ctx| move_focus(ctx, &request))?;
        if !app.ui.try_print_json(&outcome) {
            print_focus(app, &outcome);
        }
        Ok(ExitCode::Done)
    }
}

fn print_focus(app: &App, outcome: &FocusOutcome) {
    for path in &outcome.completed {
        app.ui.print_line(format!("{path} is complete"));
    }
    // The exit was carried out, but evidence is missing: a warning, because leaving a node
    // unfinished is allowed.
    if let Some(why) = &outcome.unproved {
        app.ui
            .print_line(format_args!("{}: {}", styled(WARN, "not complete"), why));
    }
    app.ui.print_line(styled(BOLD, &outcome.place.line));
    if let Some(assessed) = &outcome.assessed {
        let reasons = assessed.reasons.join(", ");
        app.ui.print_line(styled(
            DIM,
            format!("a {}: {reasons}", assessed.level.as_str()),
        ));
    }
    // The context of the entered ticket: the agent needs no second command to start.
    if let Some(context) = &outcome.context {
        app.ui.print_blank_line();
        app.ui.print_lines(context);
    }
}
