//! Shows an entry of the memory, or lists the entries.

use std::collections::BTreeMap;

use domain::memory::{Entry, EntryKind, entry_file};
use serde::Serialize;
use serde_json::Value;

use super::memory_files::{load_entry, load_memory, observe_memory};
use super::prose_files::observe_book;
use crate::context::Context;
use crate::failure::Failure;

/// An entry, for output.
#[derive(Clone, Debug, Serialize)]
pub struct EntryView {
    pub id: String,
    pub kind: &'static str,
    pub name: String,
    pub file: String,
    pub entry: Value,
}

impl EntryView {
    pub(crate) fn from_entry(entry: &Entry) -> Self {
        Self {
            id: entry.id().to_owned(),
            kind: entry.kind().as_str(),
            name: entry.name(),
            file: entry_file::entry_file_path(entry.kind(), entry.id()),
            entry: entry.to_value(),
        }
    }
}

/// The entries, with their number per kind.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryView {
    pub counts: BTreeMap<&'static str, usize>,
    pub entries: Vec<EntryView>,
}

/// Returns the memory, or one kind of it.
///
/// # Errors
/// When the state cannot be read.
pub fn show_memory(ctx: &Context<'_>, kind: Option<EntryKind>) -> Result<MemoryView, Failure> {
    observe_book(ctx)?;
    let state = observe_memory(ctx)?;
    let memory = load_memory(&*state)?;
    let counts = EntryKind::ALL
        .into_iter()
        .map(|kind| (kind.folder_name(), memory.entries_of_kind(kind).count()))
        .collect();
    let wanted = |entry: &&Entry| kind.is_none_or(|kind| entry.kind() == kind);
    Ok(MemoryView {
        counts,
        entries: memory
            .all_entries()
            .filter(wanted)
            .map(EntryView::from_entry)
            .collect(),
    })
}

/// Returns one entry, by its id or its name.
///
/// # Errors
/// When there is none, or several have that name; or the state cannot be read.
pub fn show_entry(ctx: &Context<'_>, name: &str) -> Result<EntryView, Failure> {
    observe_book(ctx)?;
    let state = observe_memory(ctx)?;
    // By id only one record is read; a name needs all of them.
    if let Some((kind, number)) = EntryKind::parse_id(name)
        && let Some(entry) = load_entry(&*state, kind, &kind.format_id(number))?
    {
        return Ok(EntryView::from_entry(&entry));
    }
    let memory = load_memory(&*state)?;
    let found: Vec<&Entry> = EntryKind::ALL
        .into_iter()
        .filter_map(|kind| memory.resolve_id(kind, name))
        .filter_map(|id| memory.get(&id))
        .collect();
    match found.as_slice() {
        [entry] => Ok(EntryView::from_entry(entry)),
        [] => Err(unknown_entry(name)),
        // Names are unique only within a kind: a character and a location may share one.
        many => Err(many.iter().fold(
            Failure::invalid(format!("`{name}` is the name of several entries")),
            |failure, entry| failure.with_step(format!("tl story memory show {}", entry.id())),
        )),
    }
}

pub(super) fn unknown_entry(name: &str) -> Failure {
    Failure::not_found(format!("there is no memory entry `{name}`"))
        .with_step(format!("tl story memory search {name}"))
        .with_step("tl story memory show")
}
