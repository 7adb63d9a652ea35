//! `tl story memory`: shows, searches and edits the memory of a story.

use application::Failure;
use application::memory::change_identity::{intend_fact, merge_memory, split_memory};
use application::memory::draw_graph::{GraphFormat, draw_graph};
use application::memory::edit_memory::{EditMemoryRequest, EditTarget, edit_memory, forget_entry};
use application::memory::search_memory::{SearchMemoryRequest, search_memory};
use application::memory::show_memory::{EntryView, show_entry, show_memory};
use clap::{Args, Subcommand};
use domain::documentation::guide_address;
use domain::memory::EntryKind;
use domain::record::RecordKey;
use domain::text::count_with_noun;
use serde_json::{Map, Value};

use super::memory_reread::{AtArgs, RereadArgs};
use crate::embedding::VectorIndex;
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, styled};
use crate::wiring::App;

/// Story memory: characters, locations, relationships, open loops
///
/// Every entry is also a file in `memory/`. You can edit it: the next command imports the change.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl story memory edit --new character name=Elena role=protagonist
  tl story memory edit C0 emotional_state=tense 'goals=[\"find the map\"]'
  tl story memory show Elena
  tl story memory search mentor map
  tl story memory reread --all
  tl story memory at scene-0204
  tl story memory merge Elena Lena
  tl story memory graph > relationships.svg")]
pub(crate) struct MemoryArgs {
    #[command(subcommand)]
    what: MemoryCommand,
}

#[derive(Debug, Subcommand)]
enum MemoryCommand {
    /// Show all entries, one kind, or one entry
    Show {
        /// A kind (`characters`), an id (`C0`) or a name
        entry: Option<String>,
    },
    /// Full-text search of entries, in any language; word prefixes match
    Search {
        /// Search only this kind; may be repeated
        #[arg(long, value_name = "KIND")]
        kind: Vec<String>,
        /// Maximum number of results
        #[arg(long, default_value_t = 10)]
        limit: usize,
        /// Words to search for
        #[arg(required = true)]
        query: Vec<String>,
    },
    /// Update the vector index for semantic search, if an embedding model is configured
    ///
    /// Searches then also find entries that are close in meaning. Only new and changed entries are
    /// sent to the model.
    Index,
    /// Set fields of an entry, or create one
    Edit {
        /// Create an entry of this kind
        #[arg(long, value_name = "KIND")]
        new: Option<String>,
        /// The entry (unless it is new), then `field=value`; lists as JSON, an empty value clears
        /// the field
        #[arg(required = true, value_name = "ENTRY|FIELD=VALUE")]
        words: Vec<String>,
    },
    /// Remove an entry and its file
    Forget {
        /// An id or a name
        entry: String,
    },
    Reread(RereadArgs),
    At(AtArgs),
    /// Merge two entries that are one person or place; the second becomes another name of the first
    Merge {
        /// The entry that stays: an id or a name
        kept: String,
        /// The entry that becomes another name of it
        gone: String,
    },
    /// Split a name off a person or place that is two; it becomes an entry of its own
    Split {
        /// The entry that has the name: an id or a name
        entry: String,
        /// The name that belongs to someone else
        name: String,
    },
    /// Mark a fact that contradicts another one as intended; it is not a finding again
    Intend {
        /// The id of a fact
        fact: String,
    },
    /// Draw the relationships as SVG
    Graph {
        /// Print Graphviz DOT instead
        #[arg(long)]
        dot: bool,
    },
}

impl MemoryArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        match &self.what {
            MemoryCommand::Show { entry: None } => print_entries(app, None)?,
            // A kind wins over an entry of the same name; the entry is still found by its id.
            MemoryCommand::Show { entry: Some(name) } => match EntryKind::from_word(name) {
                Some(kind) => print_entries(app, Some(kind))?,
                None => print_entry(app, &app.run(|ctx| show_entry(ctx, name))?),
            },
            MemoryCommand::Search { kind, limit, query } => {
                let kinds = kind
                    .iter()
                    .map(|word| parse_kind(word))
                    .collect::<Result<Vec<_>, _>>()?;
                let mut request = SearchMemoryRequest {
                    query: query.join(" "),
                    kinds,
                    limit: *limit,
                    nearest: Vec::new(),
                };
                // Outside of the use case: a model call can take seconds, and the state must not be
                // held for it.
                request.nearest = find_nearest_entries(app, &request)?;
                let found = app.run(|ctx| search_memory(ctx, &request))?;
                if app.ui.json {
                    app.ui.print_json(&found);
                } else if found.is_empty() {
                    app.ui.print_message("no entry matches");
                    app.ui.print_next_step(format_args!(
                        "tl search {}   # plans, prose and the log too",
                        query.join(" ")
                    ));
                } else {
                    found.iter().for_each(|entry| print_entry_line(app, entry));
                }
            }
            MemoryCommand::Index => update_vector_index(app)?,
            MemoryCommand::Edit { new, words } => {
                let request = parse_edit_request(new.as_deref(), words)?;
                let entry = app.run(|ctx| edit_memory(ctx, &request))?;
                print_entry(app, &entry);
            }
            MemoryCommand::Forget { entry } => {
                let entry = app.run(|ctx| forget_entry(ctx, entry))?;
                if !app.ui.try_print_json(&entry) {
                    app.ui
                        .print_line(format!("removed: {} {}", entry.id, entry.name));
                    app.ui.print_message("tl undo restores it");
                }
            }
            MemoryCommand::Reread(args) => return args.run(app),
            MemoryCommand::At(args) => return args.run(app),
            MemoryCommand::Merge { kept, gone } => {
                print_entry(app, &app.run(|ctx| merge_memory(ctx, kept, gone))?);
            }
            MemoryCommand::Split { entry, name } => {
                print_entry(app, &app.run(|ctx| split_memory(ctx, entry, name))?);
            }
            MemoryCommand::Intend { fact } => {
                print_entry(app, &app.run(|ctx| intend_fact(ctx, fact))?);
            }
            MemoryCommand::Graph { dot } => {
                let form = if *dot {
                    GraphFormat::Dot
                } else {
                    GraphFormat::Svg
                };
                let drawn = app.run(|ctx| draw_graph(ctx, form))?;
                if !app
                    .ui
                    .try_print_json(&serde_json::json!({ "graph": drawn }))
                {
                    app.ui.print_text(&drawn);
                }
            }
        }
        Ok(ExitCode::Done)
    }
}

/// Returns the semantically nearest entries. A model that fails is only a warning: the full-text
/// search still works.
fn find_nearest_entries(
    app: &App,
    request: &SearchMemoryRequest,
) -> Result<Vec<RecordKey>, Failure> {
    let Some(embedding) = VectorIndex::open_for_project(app)? else {
        return Ok(Vec::new());
    };
    match embedding.find_nearest(request) {
        Ok(found) => {
            if found.is_empty() {
                app.ui.print_message(
                    "the vector index is empty, so only words are searched; next: tl story memory index",
                );
            }
            Ok(found)
        }
        Err(error) => {
            let what = format!(
                "only words are searched, because {} failed: {}",
                embedding.model_name(),
                error.what
            );
            app.ui.print_warning(what);
            Ok(Vec::new())
        }
    }
}

fn update_vector_index(app: &App) -> Result<(), Failure> {
    let Some(embedding) = VectorIndex::open_for_project(app)? else {
        return Err(Failure::refused(
            "no embedding model is configured: memory search is by words only",
        )
        .with_step(format!(
            "set THROUGHLINE_EMBED_PROVIDER and THROUGHLINE_EMBED_MODEL; see {}",
            guide_address("models")
        )));
    };
    // Lines instead of a bar: a batch takes seconds, and there are only a few of them.
    let told = |done: usize, of: usize| {
        app.ui
            .print_message(styled(DIM, format!("embedded {done} of {of}")))
    };
    let indexed = embedding.update_index(app, &told)?;
    if !app.ui.try_print_json(&indexed) {
        let entries = count_with_noun(indexed.entries, "entry", "entries");
        app.ui.print_line(format!(
            "{entries}, {} embedded now by {}",
            indexed.embedded,
            embedding.model_name()
        ));
    }
    Ok(())
}

fn print_entries(app: &App, kind: Option<EntryKind>) -> Result<(), Failure> {
    let memory = app.run(|ctx| show_memory(ctx, kind))?;
    if app.ui.try_print_json(&memory) {
        return Ok(());
    }
    if memory.entries.is_empty() {
        app.ui.print_message(
            "the memory is empty; next: tl story memory edit --new character name=…",
        );
    }
    memory
        .entries
        .iter()
        .for_each(|entry| print_entry_line(app, entry));
    Ok(())
}

fn print_entry_line(app: &App, entry: &EntryView) {
    app.ui.print_line(format_args!(
        "{}  {}  {}",
        styled(BOLD, &entry.id),
        entry.name,
        styled(DIM, entry.kind)
    ));
}

fn print_entry(app: &App, entry: &EntryView) {
    if app.ui.try_print_json(entry) {
        return;
    }
    print_entry_line(app, entry);
    for (field, value) in entry.entry.as_object().into_iter().flatten() {
        // Texts without quotes, everything else as the JSON that `tl story memory edit` accepts.
        let shown = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let mut lines = shown.lines();
        if let Some(first) = lines.next().filter(|_| field != "id") {
            app.ui.print_line(format!("  {field}: {first}"));
            lines.for_each(|line| app.ui.print_line(format!("    {line}")));
        }
    }
    app.ui
        .print_line(format_args!("  {}", styled(DIM, &entry.file)));
}

fn parse_kind(word: &str) -> Result<EntryKind, Failure> {
    EntryKind::from_word(word).ok_or_else(|| {
        let known = EntryKind::ALL.map(EntryKind::as_str).join(", ");
        Failure::invalid(format!("`{word}` is not a kind of entry: expected {known}"))
    })
}

fn parse_edit_request(new: Option<&str>, words: &[String]) -> Result<EditMemoryRequest, Failure> {
    let (target, fields) = match (new, words.split_first()) {
        // With `--new` all words are fields; otherwise the first one names the entry.
        (Some(kind), _) => (EditTarget::New(parse_kind(kind)?), words),
        (None, Some((entry, fields))) => (EditTarget::Named(entry.clone()), fields),
        (None, None) => return Err(Failure::invalid("the entry is missing")),
    };
    let mut given = Map::new();
    for field in fields {
        let Some((name, value)) = field.split_once('=') else {
            return Err(Failure::invalid(format!(
                "`{field}` is not an assignment: expected `field=value`"
            )));
        };
        given.insert(name.to_owned(), parse_value(value));
    }
    Ok(EditMemoryRequest {
        target,
        fields: given,
    })
}

/// Parses a value as JSON if it is valid JSON, otherwise takes it as text. Quotes around every name
/// would be a nuisance in a shell; a text that looks like a number can be quoted.
fn parse_value(text: &str) -> Value {
    if text.is_empty() {
        // Null clears the field; an empty text can be given as JSON: `name='""'`.
        return Value::Null;
    }
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}
