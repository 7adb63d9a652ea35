//! `tl comment`: adds and lists comments on a plan.

use application::Failure;
use application::comment::{CommentView, add_comment, list_comments};
use clap::Args;

use super::NodeArgs;
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, GOOD, styled};
use crate::wiring::App;

/// Comment on a plan, or list its comments
///
/// A waiting agent (`tl wait`, the MCP tool `wait`) is woken and gets the comment at once;
/// otherwise it is in every briefing until the plan changes or is decided.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl comment chapter 2 -m \"The storm comes too early\"
  tl comment act-1/chapter-02")]
pub(crate) struct CommentArgs {
    #[command(flatten)]
    node: NodeArgs,

    /// Text of the comment; without it, the comments are listed
    #[arg(long, short, value_name = "TEXT")]
    message: Option<String>,
}

impl CommentArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let node = &self.node.node;
        if let Some(text) = &self.message {
            let said = app.run(|ctx| add_comment(ctx, node, text))?;
            if !app.ui.try_print_json(&said) {
                app.ui.print_line(format_args!(
                    "{} {}",
                    styled(GOOD, "commented"),
                    styled(BOLD, &said.path)
                ));
            }
            return Ok(ExitCode::Done);
        }
        let all = app.run(|ctx| list_comments(ctx, node))?;
        if !app.ui.try_print_json(&all) {
            all.iter().for_each(|said| print_comment(app, said));
        }
        Ok(ExitCode::Done)
    }
}

fn print_comment(app: &App, said: &CommentView) {
    // A comment is closed by a change of the plan or a decision, never by hand.
    let answered = if said.open { "" } else { " · answered" };
    let about = format!("{} · {}{answered}", said.by, said.at.format_local_minute());
    app.ui.print_line(styled(DIM, &about));
    said.text
        .lines()
        .for_each(|line| app.ui.print_line(format!("  {line}")));
}
