//! `tl anchor`: adds and lists anchors.

use application::Failure;
use application::sessions::keep_anchor::{AnchorView, keep_anchor, list_anchors};
use clap::{Args, Subcommand};

use crate::exit_code::ExitCode;
use crate::ui::{BOLD, styled};
use crate::wiring::App;

/// Anchors: decisions and constraints that every briefing repeats
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl anchor add \"No new dependency without asking\"\n  tl anchor list"
)]
pub(crate) struct AnchorArgs {
    #[command(subcommand)]
    what: AnchorCommand,
}

#[derive(Debug, Subcommand)]
enum AnchorCommand {
    /// Add an anchor
    Add {
        /// Text of the decision or constraint
        #[arg(required = true)]
        text: Vec<String>,
    },
    /// List all anchors, newest first
    List,
}

impl AnchorArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let line = |anchor: &AnchorView| {
            app.ui.print_line(format_args!(
                "{} {}",
                styled(BOLD, &anchor.stamp),
                anchor.text
            ));
        };
        match &self.what {
            AnchorCommand::Add { text } => {
                let anchor = app.run(|ctx| keep_anchor(ctx, &text.join(" ")))?;
                if app.ui.json {
                    app.ui.print_json(&anchor);
                } else {
                    line(&anchor);
                }
            }
            AnchorCommand::List => {
                let anchors = app.run(list_anchors)?;
                if app.ui.json {
                    app.ui.print_json(&anchors);
                } else {
                    anchors.iter().for_each(line);
                }
            }
        }
        Ok(ExitCode::Done)
    }
}
