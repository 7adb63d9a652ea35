//! `tl note`: adds, finds, pins and removes notes.

use application::Failure;
use application::sessions::keep_anchor::keep_anchor;
use application::sessions::keep_mem::{MemRequest, keep_mem};
use application::sessions::notes::{
    NoteFilter, NoteView, find_notes, list_notes, pin_note, remove_note, unpin_note,
};
use application::sessions::recall_mems::{RecallRequest, list_shelves};
use clap::{Args, Subcommand};
use domain::text::count_with_noun;

use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, styled, styled_line};
use crate::wiring::App;

/// Notes: add and find them, pin those that every briefing repeats
///
/// A note is on a shelf and is found by searching. A pinned note, a decision or a limit in at most
/// 500 characters, is also in every briefing of an agent.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl note add --shelf decisions \"JWT with jose, checked in middleware\"
  tl note find jwt middle                          # prints it with its stamp
  tl note pin 30141102026                          # from now on in every briefing
  tl note add --pin \"No new dependency without asking\"
  tl note list --pinned
  tl note remove 30141102026                       # prints the `tl undo` that restores it")]
pub(crate) struct NoteArgs {
    #[command(subcommand)]
    what: NoteCommand,
}

#[derive(Debug, Subcommand)]
enum NoteCommand {
    /// Add a note
    Add {
        /// Shelf to put it on
        #[arg(long, conflicts_with = "pin")]
        shelf: Option<String>,
        /// Pin it: every briefing repeats it
        #[arg(long)]
        pin: bool,
        /// Text of the note
        #[arg(required = true)]
        text: Vec<String>,
    },
    /// Full-text search of notes, in any language; word prefixes match
    Find {
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
    /// List the notes, newest first
    List {
        /// Only pinned notes
        #[arg(long)]
        pinned: bool,
        /// Only notes on this shelf
        #[arg(long)]
        shelf: Option<String>,
    },
    /// List the shelves with their number of notes
    Shelves,
    /// Pin a note: every briefing repeats it
    Pin {
        /// The note's stamp
        stamp: String,
    },
    /// Unpin a note
    Unpin {
        /// The note's stamp
        stamp: String,
    },
    /// Remove a note
    Remove {
        /// The note's stamp
        stamp: String,
    },
}

impl NoteArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        match &self.what {
            NoteCommand::Add { text, pin, shelf } => {
                // Words are joined, so that a note needs no quotes in a shell.
                add_note(app, text.join(" "), *pin, shelf.clone())?;
            }
            NoteCommand::Find {
                shelf,
                limit,
                query,
            } => {
                let request = RecallRequest {
                    query: query.join(" "),
                    shelf: shelf.clone(),
                    limit: *limit,
                };
                let found = app.run(|ctx| find_notes(ctx, &request))?;
                print_notes(app, &found, "no note matches");
            }
            NoteCommand::List { pinned, shelf } => {
                let filter = NoteFilter {
                    pinned: *pinned,
                    shelf: shelf.clone(),
                };
                let found = app.run(|ctx| list_notes(ctx, &filter))?;
                print_notes(app, &found, "no notes yet; next: tl note add \"TEXT\"");
            }
            NoteCommand::Shelves => print_shelves(app)?,
            NoteCommand::Pin { stamp } => {
                print_change(app, "pinned", &app.run(|ctx| pin_note(ctx, stamp))?);
            }
            NoteCommand::Unpin { stamp } => {
                print_change(app, "unpinned", &app.run(|ctx| unpin_note(ctx, stamp))?);
            }
            NoteCommand::Remove { stamp } => {
                let removed = app.run(|ctx| remove_note(ctx, stamp))?;
                if !app.ui.try_print_json(&removed) {
                    print_change(app, "removed", &removed.note);
                    // With its number: without one, the last decision would be undone.
                    app.ui
                        .print_message(format!("tl undo {} restores it", removed.operation));
                }
            }
        }
        Ok(ExitCode::Done)
    }
}

fn add_note(app: &App, text: String, pin: bool, shelf: Option<String>) -> Result<(), Failure> {
    if pin {
        let anchor = app.run(|ctx| keep_anchor(ctx, &text))?;
        if !app.ui.try_print_json(&anchor) {
            app.ui.print_line(format!("pinned as {}", anchor.stamp));
        }
        return Ok(());
    }
    let request = MemRequest { text, shelf };
    let mem = app.run(|ctx| keep_mem(ctx, &request))?;
    if !app.ui.try_print_json(&mem) {
        app.ui
            .print_line(format!("saved as {} on shelf {}", mem.stamp, mem.shelf));
    }
    Ok(())
}

fn print_notes(app: &App, notes: &[NoteView], empty: &str) {
    if app.ui.json {
        app.ui.print_json(&notes);
    } else if notes.is_empty() {
        // Not an error: an agent asks before it knows whether there is anything.
        app.ui.print_message(empty);
    }
    for note in notes.iter().filter(|_| !app.ui.json) {
        let shelf = note.shelf.as_deref().unwrap_or_default();
        let pinned = if note.pinned { "pinned" } else { "" };
        let place = format!("{shelf} {pinned}");
        app.ui.print_line(styled_line!(
            "{} {}",
            styled(BOLD, &note.stamp),
            styled(DIM, place.trim())
        ));
        note.text
            .lines()
            .for_each(|line| app.ui.print_line(format!("  {line}")));
    }
}

fn print_shelves(app: &App) -> Result<(), Failure> {
    let shelves = app.run(list_shelves)?;
    if app.ui.try_print_json(&shelves) {
        return Ok(());
    }
    for shelf in &shelves {
        let notes = count_with_noun(shelf.notes, "note", "notes");
        app.ui
            .print_line(format_args!("{}  {notes}", styled(BOLD, &shelf.shelf)));
    }
    Ok(())
}

fn print_change(app: &App, what: &str, note: &NoteView) {
    if !app.ui.try_print_json(note) {
        let start = note.text.lines().next().unwrap_or_default();
        app.ui.print_line(format!("{what}: {} {start}", note.stamp));
    }
}
