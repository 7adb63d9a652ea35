//! `tl story new`, `compile` and `stats`: creates a story project, compiles the book, and prints its statistics.

use std::io::{Cursor, Write};
use std::path::PathBuf;

use application::novel::compile_novel::{CompileRequest, compile_novel};
use application::novel::name_novel::{is_new_project, name_novel};
use application::novel::novel_stats::novel_stats;
use application::{Failure, FailureKind};
use clap::{Args, ValueEnum};
use domain::book_export::Book;
use domain::memory::EntryKind;
use domain::shell_line::quote_word;
use domain::text::count_with_noun;
use serde_json::json;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::commands::init::InitArgs;
use crate::completion::node_option_completer;
use crate::cost::render_cost;
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, styled};
use crate::wiring::App;

/// Create a story project in a new directory
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl story new \"The Locked Drawer\"")]
pub(crate) struct NewStoryArgs {
    /// Title of the story, also the name of its directory
    name: String,
}

/// Compile the written scenes into a book, in the order of the plan
///
/// Title, author and language are in `story/book.md`, between two `---`. DOCX is in standard manuscript
/// format: 12 pt, double spaced, with a title page and a running header.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl story compile                      # Markdown on the screen
  tl story compile --format epub --output drawer.epub
  tl story compile --format docx --output drawer.docx --only act-1 --mark-stale")]
pub(crate) struct CompileArgs {
    /// Format of the book
    #[arg(long, value_enum, default_value_t = BookFormat::Markdown)]
    format: BookFormat,
    /// Output file [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Compile only this plan and what is below it; may be repeated
    #[arg(long, value_name = "NODE", add = node_option_completer())]
    only: Vec<String>,
    /// Mark scenes in the text whose plan has changed since they were written
    #[arg(long)]
    mark_stale: bool,
}

/// Show the progress of the story and its cost
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl story stats\n  tl story stats --json")]
pub(crate) struct StatsArgs {}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BookFormat {
    Markdown,
    Html,
    Epub,
    Docx,
    Fountain,
}

impl NewStoryArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        create_novel(app, &self.name)
    }
}

impl CompileArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        self.compile_book(app)?;
        Ok(ExitCode::Done)
    }
}

impl StatsArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        print_stats(app)?;
        Ok(ExitCode::Done)
    }
}

fn create_novel(app: &App, name: &str) -> Result<ExitCode, Failure> {
    let folder = name.trim();
    // Also no backslash, so that the project can be checked out on Windows; a leading dot would
    // hide it.
    if folder.is_empty() || folder.starts_with('.') || folder.contains(['/', '\\', '\0']) {
        return Err(Failure::invalid(format!(
            "`{name}` is not a valid directory name"
        )));
    }
    let root = app.start.join(folder);
    let inside = App {
        start: root.clone(),
        explicit: true,
        ..app.clone()
    };
    let shown = root.display();
    // `create_dir` and not `create_dir_all`: it fails on an existing directory, without a race
    // between looking and creating.
    match std::fs::create_dir(&root) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            if !is_partially_created(&inside)? {
                return Err(Failure::conflict(format!("`{shown}` already exists"))
                    .with_step(format!(
                        "cd {} && tl init   # create the project there",
                        quote_word(&shown.to_string())
                    ))
                    .with_step("tl story new ANOTHER-NAME"));
            }
        }
        Err(error) => {
            return Err(Failure::unavailable(format!(
                "cannot create `{shown}`: {error}"
            )));
        }
    }
    // The ordinary init, so that both ways give the same project.
    let ended = InitArgs::story_project().run(&inside)?;
    // Last: a command that is killed before this can be repeated, and completes the project.
    inside.run(|ctx| name_novel(ctx, folder))?;
    if !app.ui.json {
        app.ui
            .print_message(format!("next: cd {} && tl plan act-1", quote_word(folder)));
    }
    Ok(ended)
}

/// Whether a directory contains only what an interrupted `tl story new` has left; repeating the
/// command completes it.
fn is_partially_created(inside: &App) -> Result<bool, Failure> {
    let Ok(entries) = std::fs::read_dir(&inside.start) else {
        return Ok(false);
    };
    // `.tl-*` are temporary files of an interrupted write.
    let ours = |name: &std::ffi::OsStr| {
        name == ".throughline" || name.to_string_lossy().starts_with(".tl-")
    };
    if !entries
        .into_iter()
        .all(|entry| entry.is_ok_and(|entry| ours(&entry.file_name())))
    {
        return Ok(false);
    }
    // Killed before the settings were written: there is nothing to load yet.
    if !inside.start.join(".throughline/config.toml").exists() {
        return Ok(true);
    }
    match inside.run(is_new_project) {
        // It was killed before the state was created.
        Err(failure) if failure.kind == FailureKind::NotFound => Ok(true),
        outcome => outcome,
    }
}

impl CompileArgs {
    fn compile_book(&self, app: &App) -> Result<(), Failure> {
        let request = CompileRequest {
            only: self.only.clone(),
            mark_stale: self.mark_stale,
        };
        let compiled = app.run(|ctx| compile_novel(ctx, &request))?;
        let bytes = self.format.render(&compiled.book)?;
        let view = &compiled.view;
        match &self.output {
            Some(path) => {
                // Atomically: a full disk must not replace a complete book by half of one.
                store::write_atomically(path, &bytes).map_err(|error| {
                    Failure::unavailable(format!("cannot write `{}`: {error}", path.display()))
                })?;
                if !app
                    .ui
                    .try_print_json(&json!({ "file": path, "book": view }))
                {
                    let what = [
                        count_with_noun(view.chapters, "chapter", "chapters"),
                        count_with_noun(view.scenes, "scene", "scenes"),
                        count_with_noun(view.words, "word", "words"),
                    ];
                    app.ui
                        .print_line(format!("{}: {}", path.display(), what.join(", ")));
                }
            }
            None if self.format.is_archive() => {
                let format = self.format.to_possible_value();
                let format = format.as_ref().map_or("", |value| value.get_name());
                let what = format!("a book in {format} cannot be printed; expected `--output`");
                let step = format!("tl story compile --format {format} --output book.{format}");
                return Err(Failure::invalid(what).with_step(step));
            }
            None if app.ui.json => app
                .ui
                .print_json(&json!({ "book": view, "text": String::from_utf8_lossy(&bytes) })),
            None => app.ui.print_lines(&String::from_utf8_lossy(&bytes)),
        }
        for scene in &view.stale {
            app.ui
                .print_warning(format!("{} is stale: {}", scene.path, scene.reason));
        }
        for scene in &view.missing {
            app.ui
                .print_message(styled(DIM, format!("not written yet: {scene}")));
        }
        Ok(())
    }
}

impl BookFormat {
    fn is_archive(self) -> bool {
        matches!(self, Self::Epub | Self::Docx)
    }

    fn render(self, book: &Book) -> Result<Vec<u8>, Failure> {
        match self {
            Self::Markdown => Ok(book.to_markdown().into_bytes()),
            Self::Html => Ok(book.to_html().into_bytes()),
            Self::Fountain => Ok(book.to_fountain().into_bytes()),
            Self::Epub => pack_archive(&book.to_epub_files()).map_err(Failure::internal),
            Self::Docx => pack_archive(&book.to_docx_files()).map_err(Failure::internal),
        }
    }
}

/// Packs the files of an EPUB or a DOCX. The first is not compressed: an EPUB's `mimetype` is read at its
/// place in the archive.
fn pack_archive(files: &[(String, String)]) -> Result<Vec<u8>, String> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (index, (name, text)) in files.iter().enumerate() {
        let method = match index {
            0 => CompressionMethod::Stored,
            _ => CompressionMethod::Deflated,
        };
        let options = SimpleFileOptions::default().compression_method(method);
        archive
            .start_file(name, options)
            .map_err(|error| error.to_string())?;
        archive
            .write_all(text.as_bytes())
            .map_err(|error| error.to_string())?;
    }
    archive
        .finish()
        .map(Cursor::into_inner)
        .map_err(|error| error.to_string())
}

fn print_stats(app: &App) -> Result<(), Failure> {
    let stats = app.run(novel_stats)?;
    if app.ui.try_print_json(&stats) {
        return Ok(());
    }
    app.ui.print_line(styled(BOLD, &stats.novel));
    app.ui.print_line(format!("  ticks   {}", stats.ticks));
    let scenes = format!(
        "{} planned, {} approved, {} written",
        stats.scenes_planned, stats.scenes_approved, stats.scenes_written
    );
    app.ui.print_line(format!("  scenes  {scenes}"));
    app.ui.print_line(format!("  words   {}", stats.words));
    // Kinds are stored in the plural; the singular comes from the enum.
    let named = |kind: &str, many: usize| {
        let one = EntryKind::from_word(kind).map(EntryKind::as_str);
        count_with_noun(many, one.unwrap_or(kind), kind)
    };
    let memory: Vec<String> = stats
        .memory
        .iter()
        .filter(|(_, many)| **many > 0)
        .map(|(kind, many)| named(kind, *many))
        .collect();
    app.ui.print_line(format!(
        "  memory  {} ({} open)",
        memory.join(", "),
        count_with_noun(stats.open_loops, "loop", "loops")
    ));
    let spent = &stats.spending;
    let cost = render_cost(spent.cost_micros, spent.calls, spent.calls_without_price);
    let calls = count_with_noun(spent.calls, "call", "calls");
    app.ui.print_line(format!(
        "  models  {calls}, {} tokens in, {} out, {cost}",
        spent.input_tokens, spent.output_tokens
    ));
    Ok(())
}
