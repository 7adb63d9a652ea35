//! `tl story new`, `compile` and `stats`: creates a story project, compiles the book, and prints its statistics.

use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use application::novel::compile_novel::compile_novel;
use application::novel::name_novel::{is_new_project, name_novel};
use application::novel::novel_stats::novel_stats;
use application::{Failure, FailureKind};
use clap::{Args, ValueEnum};
use domain::book_export::Book;
use domain::memory::EntryKind;
use domain::text::count_with_noun;
use serde_json::json;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::commands::init::InitArgs;
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
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl story compile                      # Markdown on the screen
  tl story compile --form epub --out drawer.epub")]
pub(crate) struct CompileArgs {
    #[arg(long, value_enum, default_value_t = BookFormat::Markdown)]
    form: BookFormat,
    /// Output file [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
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
}

impl NewStoryArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        create_novel(app, &self.name)
    }
}

impl CompileArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        compile_book(app, self.form, self.out.as_deref())?;
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
                        "cd '{shown}' && tl init   # create the project there"
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
    inside.run(|ctx| name_novel(ctx, folder))?;
    if !app.ui.json {
        app.ui
            .print_message(format!("next: cd '{folder}' && tl plan act-1"));
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

fn compile_book(app: &App, form: BookFormat, out: Option<&Path>) -> Result<(), Failure> {
    let compiled = app.run(compile_novel)?;
    let bytes = match form {
        BookFormat::Markdown => compiled.book.to_markdown().into_bytes(),
        BookFormat::Html => compiled.book.to_html().into_bytes(),
        BookFormat::Epub => pack_epub(&compiled.book).map_err(Failure::internal)?,
    };
    let view = &compiled.view;
    match out {
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
        None if form == BookFormat::Epub => {
            return Err(
                Failure::invalid("an EPUB cannot be printed; expected `--out`")
                    .with_step("tl story compile --form epub --out book.epub"),
            );
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

/// Packs an EPUB. The format requires its first entry, `mimetype`, to be uncompressed; the others
/// are stored too, which saves the compressor as a dependency.
fn pack_epub(book: &Book) -> Result<Vec<u8>, String> {
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in book.to_epub_files() {
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
    let unknown = match spent.calls_without_price {
        0 => String::new(),
        calls => format!(
            ", and {} of unknown price",
            count_with_noun(calls, "call", "calls")
        ),
    };
    let calls = count_with_noun(spent.calls, "call", "calls");
    app.ui.print_line(format!(
        "  models  {calls}, {} tokens in, {} out, ${:.4}{unknown}",
        spent.input_tokens,
        spent.output_tokens,
        spent.cost_micros as f64 / 1e6
    ));
    Ok(())
}
