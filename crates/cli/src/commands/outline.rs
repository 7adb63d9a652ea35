//! `tl outline`: prints the plans as one document.

use std::path::PathBuf;

use application::Failure;
use application::make_outline::{OutlineRequest, make_outline, refuse_plan_file};
use clap::{Args, ValueEnum};

use crate::completion::node_completer;
use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Print the plans as one document: titles, synopses and statuses
///
/// The synopsis of a plan is `synopsis` in its front matter, or its first paragraph.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl outline
  tl outline act-2 --depth 1
  tl outline --full --format html --output outline.html   the whole texts, for an editor")]
pub(crate) struct OutlineArgs {
    /// The node at the top; all plans without one
    #[arg(num_args = 0..=2, value_name = "NODE", add = node_completer())]
    node: Vec<String>,

    /// Number of levels below the top
    #[arg(long, value_name = "LEVELS")]
    depth: Option<usize>,

    /// Give the whole texts of the plans instead of synopses
    #[arg(long)]
    full: bool,

    /// Format of the document
    #[arg(long, value_enum, default_value_t = OutlineFormat::Markdown)]
    format: OutlineFormat,

    /// Write the document to this file
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OutlineFormat {
    Markdown,
    Html,
}

impl OutlineArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let request = OutlineRequest {
            node: self.node.clone(),
            depth: self.depth,
            full: self.full,
        };
        let outline = app.run(|ctx| make_outline(ctx, &request))?;
        if app.ui.json {
            app.ui.print_json(
                &serde_json::json!({ "title": outline.title, "entries": outline.entries }),
            );
            return Ok(ExitCode::Done);
        }
        let document = match self.format {
            OutlineFormat::Markdown => outline.to_markdown(),
            OutlineFormat::Html => outline.to_html(),
        };
        match &self.output {
            None => app.ui.print_text(&document),
            Some(path) => {
                let directory = std::env::current_dir().unwrap_or_default();
                app.run(|ctx| {
                    refuse_plan_file(ctx, &directory.to_string_lossy(), &path.to_string_lossy())
                })?;
                // An editor that has the former file open never sees half of a new one.
                store::write_atomically(path, document.as_bytes()).map_err(|error| {
                    Failure::unavailable(format!("cannot write `{}`: {error}", path.display()))
                })?;
                app.ui
                    .print_success(format_args!("wrote {}", path.display()));
            }
        }
        Ok(ExitCode::Done)
    }
}
