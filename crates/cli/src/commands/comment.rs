//! `tl comment`: adds and lists comments on a plan.

use application::Failure;
use application::comment::{CommentView, NewComment, add_placed_comment, list_comments};
use clap::Args;

use super::NodeArgs;
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, GOOD, styled};
use crate::wiring::App;

/// Comment on a plan or its prose, or list the comments
///
/// A waiting agent (`tl wait`, the MCP tool `wait`) is woken and gets the comment at once;
/// otherwise it is in every briefing until the plan changes or is decided.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl comment chapter 2 -m \"The storm comes too early\"
  tl comment chapter 2 --quote \"She says nothing\" -m \"Why not?\"
  tl comment scene-0101 --prose --quote \"the lamp went out\" -m \"Too early\"
  tl comment chapter 2 --reply 3f2a9c41 -m \"She is afraid\"
  tl comment chapter 2 --resolve 3f2a9c41
  tl comment act-1/chapter-02")]
pub(crate) struct CommentArgs {
    #[command(flatten)]
    node: NodeArgs,

    /// Text of the comment; without it, the comments are listed
    #[arg(long, short, value_name = "TEXT")]
    message: Option<String>,

    /// Words of the plan that the comment is about, or of its prose
    #[arg(long, value_name = "WORDS", conflicts_with = "reply")]
    quote: Option<String>,

    /// The words are in the prose, even if the plan has them too
    #[arg(long, requires = "quote")]
    prose: bool,

    /// Heading of the section with these words, if several have them
    #[arg(long, value_name = "HEADING", requires = "quote")]
    section: Option<String>,

    /// Reply to this comment
    #[arg(long, value_name = "ID", requires = "message")]
    reply: Option<String>,

    /// Resolve the thread of this comment
    #[arg(long, value_name = "ID", conflicts_with_all = ["reply", "quote"])]
    resolve: Option<String>,
}

impl CommentArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let node = &self.node.node;
        // Said here and not by clap, so that the error has a command to go on with.
        if self.quote.is_some() && self.message.is_none() {
            return Err(Failure::invalid("a quotation needs a comment")
                .with_step("tl comment NODE --quote WORDS -m TEXT"));
        }
        if self.message.is_some() || self.resolve.is_some() {
            let new = NewComment {
                text: self.message.clone().unwrap_or_default(),
                quote: self.quote.clone(),
                in_prose: self.prose,
                section: self.section.clone(),
                reply_to: self.reply.clone().or_else(|| self.resolve.clone()),
                resolves: self.resolve.is_some(),
            };
            let said = app.run(|ctx| add_placed_comment(ctx, node, &new))?;
            if !app.ui.try_print_json(&said) {
                app.ui.print_line(format_args!(
                    "{} {}",
                    styled(
                        GOOD,
                        if new.resolves {
                            "resolved on"
                        } else {
                            "commented"
                        }
                    ),
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
    let state = match said.open {
        true => String::new(),
        false => format!(" · {}", said.state.as_str()),
    };
    let reply = match &said.reply_to {
        Some(id) => format!(" · reply to {id}"),
        None => String::new(),
    };
    let about = format!(
        "{} · {} · {}{reply}{state}",
        said.id,
        said.by,
        said.at.format_local_minute()
    );
    app.ui.print_line(styled(DIM, &about));
    if let Some(quote) = &said.quote {
        let text = if said.in_prose { "prose " } else { "" };
        let place = said
            .line
            .map_or(String::new(), |line| format!("{text}{line}: "));
        quote.lines().for_each(|line| {
            app.ui
                .print_line(styled(DIM, &format!("  > {place}{line}")))
        });
    }
    said.text
        .lines()
        .for_each(|line| app.ui.print_line(format!("  {line}")));
}
