//! `tl mem`: saves and recalls notes.

use application::Failure;
use application::sessions::keep_mem::{MemRequest, MemView, keep_mem};
use application::sessions::recall_mems::{RecallRequest, list_shelves, recall_mems};
use clap::{Args, Subcommand};
use domain::text::count_with_noun;

use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, styled};
use crate::wiring::App;

/// Notes on shelves: save and recall them
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl mem save --shelf decisions \"JWT with jose, checked in middleware\"
  tl mem recall jwt middle
  tl mem shelves")]
pub(crate) struct MemArgs {
    #[command(subcommand)]
    what: MemCommand,
}

#[derive(Debug, Subcommand)]
enum MemCommand {
    /// Save a note
    Save {
        /// Shelf to put it on
        #[arg(long)]
        shelf: Option<String>,
        /// Text of the note
        #[arg(required = true)]
        text: Vec<String>,
    },
    /// Full-text search of notes, in any language; word prefixes match
    Recall {
        /// Search only this shelf
        #[arg(long)]
        shelf: Option<String>,
        /// Maximum number of results
        #[arg(long, default_value_t = 10)]
        limit: usize,
        /// Words to search for
        #[arg(required = true)]
        query: Vec<String>,
    },
    /// List the shelves with their number of notes
    Shelves,
}

impl MemArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        match &self.what {
            MemCommand::Save { shelf, text } => {
                let request = MemRequest {
                    // Words are joined, so that a note needs no quotes in a shell.
                    text: text.join(" "),
                    shelf: shelf.clone(),
                };
                let mem = app.run(|ctx| keep_mem(ctx, &request))?;
                if app.ui.json {
                    app.ui.print_json(&mem);
                } else {
                    app.ui
                        .print_line(format!("saved as {} on shelf {}", mem.stamp, mem.shelf));
                }
            }
            MemCommand::Recall {
                shelf,
                limit,
                query,
            } => {
                let request = RecallRequest {
                    query: query.join(" "),
                    shelf: shelf.clone(),
                    most: *limit,
                };
                let found = app.run(|ctx| recall_mems(ctx, &request))?;
                if app.ui.json {
                    app.ui.print_json(&found);
                } else if found.is_empty() {
                    // Not an error: an agent asks before it knows whether there is anything.
                    app.ui.print_message("no note matches");
                } else {
                    found.iter().for_each(|mem| print_note(app, mem));
                }
            }
            MemCommand::Shelves => {
                let shelves = app.run(list_shelves)?;
                if app.ui.json {
                    app.ui.print_json(&shelves);
                } else {
                    for shelf in &shelves {
                        let notes = count_with_noun(shelf.notes, "note", "notes");
                        app.ui
                            .print_line(format_args!("{}  {notes}", styled(BOLD, &shelf.shelf)));
                    }
                }
            }
        }
        Ok(ExitCode::Done)
    }
}

fn print_note(app: &App, mem: &MemView) {
    app.ui.print_line(format_args!(
        "{} {}",
        styled(BOLD, &mem.stamp),
        styled(DIM, &mem.shelf)
    ));
    mem.text
        .lines()
        .for_each(|line| app.ui.print_line(format!("  {line}")));
}
