//! `tl novel`: creates a story project, compiles the book, and prints its statistics.

use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use application::novel::compile_novel::compile_novel;
use application::novel::name_novel::{is_just_made, name_novel};
use application::novel::novel_stats::novel_stats;
use application::{Failure, FailureKind};
use clap::{Args, Subcommand, ValueEnum};
use domain::memory::EntryKind;
use domain::novel::Book;
use domain::text::count;
use serde_json::json;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::commands::init::InitArgs;
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, styled};
use crate::wiring::App;

/// The story as a book: create a project, compile the scenes, show statistics
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl novel new \"The Locked Drawer\"
  tl novel compile                      # Markdown on the screen
  tl novel compile --form epub --out drawer.epub
  tl novel stats")]
pub(crate) struct NovelArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Create a story project in a new directory
    New {
        /// Title of the story, also the name of its directory
        name: String,
    },
    /// Compile the written scenes into a book, in the order of the plan
    Compile {
        #[arg(long, value_enum, default_value_t = Form::Markdown)]
        form: Form,
        /// Output file [default: standard output]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Show the progress of the story and its cost
    Stats,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    Markdown,
    Html,
    Epub,
}

impl NovelArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        match &self.what {
            What::New { name } => return new(app, name),
            What::Compile { form, out } => compile(app, *form, out.as_deref())?,
            What::Stats => stats(app)?,
        }
        Ok(ExitCode::Done)
    }
}

fn new(app: &App, name: &str) -> Result<ExitCode, Failure> {
    let invalid = |message: String| Failure::new(FailureKind::Invalid, message);
    let folder = name.trim();
    // Also no backslash, so that the project can be checked out on Windows; a leading dot would
    // hide it.
    if folder.is_empty() || folder.starts_with('.') || folder.contains(['/', '\\', '\0']) {
        return Err(invalid(format!("`{name}` is not a valid directory name")));
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
            if !is_half_made(&inside)? {
                return Err(Failure::new(
                    FailureKind::Conflict,
                    format!("`{shown}` already exists"),
                )
                .step(format!(
                    "cd '{shown}' && tl init   # create the project there"
                ))
                .step("tl novel new ANOTHER-NAME"));
            }
        }
        Err(error) => {
            return Err(Failure::new(
                FailureKind::Unavailable,
                format!("cannot create `{shown}`: {error}"),
            ));
        }
    }
    // The ordinary init, so that both ways give the same project.
    let ended = InitArgs::plain().run(&inside)?;
    inside.run(|ctx| name_novel(ctx, folder))?;
    if !app.ui.json {
        app.ui.say(format!("next: cd '{folder}' && tl plan act-1"));
    }
    Ok(ended)
}

/// Whether a directory contains only what an interrupted `tl novel new` has left; repeating the
/// command completes it.
fn is_half_made(inside: &App) -> Result<bool, Failure> {
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
    match inside.run(is_just_made) {
        // It was killed before the state was created.
        Err(failure) if failure.kind == FailureKind::NotFound => Ok(true),
        outcome => outcome,
    }
}

fn compile(app: &App, form: Form, out: Option<&Path>) -> Result<(), Failure> {
    let compiled = app.run(compile_novel)?;
    let bytes = match form {
        Form::Markdown => compiled.book.markdown().into_bytes(),
        Form::Html => compiled.book.html().into_bytes(),
        Form::Epub => {
            epub(&compiled.book).map_err(|error| Failure::new(FailureKind::Internal, error))?
        }
    };
    let view = &compiled.view;
    match out {
        Some(path) => {
            // Atomically: a full disk must not replace a complete book by half of one.
            store::write_whole(path, &bytes).map_err(|error| {
                Failure::new(
                    FailureKind::Unavailable,
                    format!("cannot write `{}`: {error}", path.display()),
                )
            })?;
            if app.ui.json {
                app.ui.value(&json!({ "file": path, "book": view }));
            } else {
                let what = [
                    count(view.chapters, "chapter", "chapters"),
                    count(view.scenes, "scene", "scenes"),
                    count(view.words, "word", "words"),
                ];
                app.ui
                    .line(format!("{}: {}", path.display(), what.join(", ")));
            }
        }
        None if form == Form::Epub => {
            return Err(Failure::new(
                FailureKind::Invalid,
                "an EPUB cannot be printed; expected `--out`",
            )
            .step("tl novel compile --form epub --out book.epub"));
        }
        None if app.ui.json => app
            .ui
            .value(&json!({ "book": view, "text": String::from_utf8_lossy(&bytes) })),
        None => app.ui.lines(&String::from_utf8_lossy(&bytes)),
    }
    for scene in &view.missing {
        app.ui.say(styled(DIM, format!("not written yet: {scene}")));
    }
    Ok(())
}

/// Packs an EPUB. The format requires its first entry, `mimetype`, to be uncompressed; the others
/// are stored too, which saves the compressor as a dependency.
fn epub(book: &Book) -> Result<Vec<u8>, String> {
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in book.epub() {
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

fn stats(app: &App) -> Result<(), Failure> {
    let stats = app.run(novel_stats)?;
    if app.ui.json {
        app.ui.value(&stats);
        return Ok(());
    }
    app.ui.line(styled(BOLD, &stats.novel));
    app.ui.line(format!("  ticks   {}", stats.ticks));
    let scenes = format!(
        "{} planned, {} approved, {} written",
        stats.scenes_planned, stats.scenes_approved, stats.scenes_written
    );
    app.ui.line(format!("  scenes  {scenes}"));
    app.ui.line(format!("  words   {}", stats.words));
    // Kinds are stored in the plural; the singular comes from the enum.
    let named = |kind: &str, many: usize| {
        let one = EntryKind::of_word(kind).map(EntryKind::word);
        count(many, one.unwrap_or(kind), kind)
    };
    let memory: Vec<String> = stats
        .memory
        .iter()
        .filter(|(_, many)| **many > 0)
        .map(|(kind, many)| named(kind, *many))
        .collect();
    app.ui.line(format!(
        "  memory  {} ({} open)",
        memory.join(", "),
        count(stats.open_loops, "loop", "loops")
    ));
    let spent = &stats.spending;
    let unknown = match spent.calls_without_price {
        0 => String::new(),
        calls => format!(", and {} of unknown price", count(calls, "call", "calls")),
    };
    let calls = count(spent.calls, "call", "calls");
    app.ui.line(format!(
        "  models  {calls}, {} tokens in, {} out, ${:.4}{unknown}",
        spent.input_tokens,
        spent.output_tokens,
        spent.cost_micros as f64 / 1e6
    ));
    Ok(())
}
