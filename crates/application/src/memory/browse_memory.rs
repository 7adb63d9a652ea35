//! The memory to browse: notes, pinned notes and story entries by kind, each entry with links to
//! those it names and to those that name it.

use domain::memory::{Entry, EntryKind, StoryMemory};
use serde::Deserialize;
use serde_json::Value;

use super::memory_files::{load_memory, observe_memory};
use super::search_memory::{SearchMemoryRequest, search_memory};
use super::show_memory::EntryView;
use crate::context::Context;
use crate::failure::Failure;
use crate::sessions::notes::{NoteFilter, NoteView, find_notes, list_notes};
use crate::sessions::recall_mems::{RecallRequest, ShelfView, list_shelves};

/// Maximum number of notes and of entries on a page.
const MAX_LISTED: usize = 200;
/// Number of notes of the overview.
const OVERVIEW_NOTES: usize = 10;

/// Request of [`browse_memory`].
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct BrowseRequest {
    /// Words to search for.
    pub text: String,
    pub shelf: String,
    /// `note`, `pinned`, or a kind of entry.
    pub kind: String,
    /// One entry, by its id.
    pub entry: String,
}

/// A part of the memory.
#[derive(Clone, Debug)]
pub struct MemoryBrowse {
    /// Every kind with its number of entries, also those without any.
    pub kinds: Vec<(EntryKind, usize)>,
    pub shelves: Vec<ShelfView>,
    pub note_count: usize,
    pub pinned_count: usize,
    pub notes: Vec<NoteView>,
    pub entries: Vec<EntryCard>,
    /// What names the one entry that is shown.
    pub named_by: Vec<EntryCard>,
    /// Whether this is the overview, which shows the newest notes and what is open.
    pub is_overview: bool,
}

/// An entry with its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryCard {
    pub id: String,
    pub kind: EntryKind,
    pub name: String,
    pub file: String,
    pub fields: Vec<(String, Vec<FieldValue>)>,
    pub text: Option<String>,
    /// Quotations of scenes that it rests on.
    pub quotes: Vec<String>,
}

/// A value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldValue {
    Text(String),
    /// Another entry.
    Entry {
        id: String,
        name: String,
    },
    /// A plan, by its path.
    Plan(String),
}

/// Returns a part of the memory.
///
/// # Errors
/// When the state cannot be read.
pub fn browse_memory(ctx: &Context<'_>, request: &BrowseRequest) -> Result<MemoryBrowse, Failure> {
    // In a block of its own: a store gives one snapshot at a time, and the notes below take the
    // next.
    let memory = {
        let state = observe_memory(ctx)?;
        load_memory(&*state)?
    };
    let shelves = list_shelves(ctx)?;
    let all_notes = list_notes(ctx, &NoteFilter::default())?;
    let mut found = MemoryBrowse {
        kinds: EntryKind::ALL
            .into_iter()
            .map(|kind| (kind, memory.entries_of_kind(kind).count()))
            .collect(),
        shelves,
        note_count: all_notes.len(),
        pinned_count: all_notes.iter().filter(|note| note.pinned).count(),
        notes: Vec::new(),
        entries: Vec::new(),
        named_by: Vec::new(),
        is_overview: false,
    };
    let text = request.text.trim();
    if !request.entry.is_empty() {
        show_one(&memory, &request.entry, &mut found);
    } else if !text.is_empty() {
        search_text(ctx, &memory, request, &mut found)?;
    } else if let Some(kind) = EntryKind::from_word(&request.kind) {
        let entries = memory.entries_of_kind(kind).take(MAX_LISTED);
        found.entries = entries.map(|entry| build_card(&memory, entry)).collect();
    } else if request.kind == "pinned" {
        found.notes = all_notes.into_iter().filter(|note| note.pinned).collect();
    } else if request.kind == "note" || !request.shelf.is_empty() {
        let is_wanted = |note: &NoteView| {
            request.shelf.is_empty() || note.shelf.as_deref() == Some(request.shelf.as_str())
        };
        found.notes = all_notes
            .into_iter()
            .filter(is_wanted)
            .take(MAX_LISTED)
            .collect();
    } else {
        found.is_overview = true;
        let open = memory.open_loops();
        let open = open.into_iter().filter_map(|one| memory.get(&one.id));
        found.entries = open.map(|entry| build_card(&memory, entry)).collect();
        let (pinned, others): (Vec<NoteView>, Vec<NoteView>) =
            all_notes.into_iter().partition(|note| note.pinned);
        let others = others.into_iter().take(OVERVIEW_NOTES);
        found.notes = pinned.into_iter().chain(others).collect();
    }
    Ok(found)
}

/// Adds one entry with everything that names it.
fn show_one(memory: &StoryMemory, id: &str, found: &mut MemoryBrowse) {
    let known = EntryKind::parse_id(id).map(|(kind, number)| kind.format_id(number));
    let Some(entry) = known.and_then(|id| memory.get(&id)) else {
        return;
    };
    let (id, name) = (entry.id().to_owned(), entry.name());
    found.entries.push(build_card(memory, entry));
    let others = memory.all_entries().filter(|other| other.id() != id);
    found.named_by = others
        .filter(|other| names_value(&other.to_value(), &id, &name))
        .take(MAX_LISTED)
        .map(|other| build_card(memory, other))
        .collect();
}

fn names_value(value: &Value, id: &str, name: &str) -> bool {
    match value {
        Value::String(text) => text == id || text == name,
        Value::Array(list) => list.iter().any(|one| names_value(one, id, name)),
        Value::Object(fields) => fields
            .iter()
            // Prose that happens to be equal to a name is no reference, and an entry does not name
            // itself.
            .any(|(key, one)| key != "id" && key != "text" && names_value(one, id, name)),
        _ => false,
    }
}

fn search_text(
    ctx: &Context<'_>,
    memory: &StoryMemory,
    request: &BrowseRequest,
    found: &mut MemoryBrowse,
) -> Result<(), Failure> {
    let shelf = Some(request.shelf.clone()).filter(|shelf| !shelf.is_empty());
    let recall = RecallRequest {
        query: request.text.clone(),
        shelf,
        limit: MAX_LISTED,
    };
    // A failure is a query without a word in it, which finds nothing.
    found.notes = find_notes(ctx, &recall).unwrap_or_default();
    if request.shelf.is_empty() {
        let search = SearchMemoryRequest {
            query: request.text.clone(),
            limit: MAX_LISTED,
            ..SearchMemoryRequest::default()
        };
        let hits: Vec<EntryView> = search_memory(ctx, &search).unwrap_or_default();
        let hits = hits.iter().filter_map(|hit| memory.get(&hit.id));
        found.entries = hits.map(|entry| build_card(memory, entry)).collect();
    }
    Ok(())
}

fn build_card(memory: &StoryMemory, entry: &Entry) -> EntryCard {
    let EntryView {
        id,
        name,
        file,
        entry: value,
        ..
    } = EntryView::from_entry(entry);
    let mut card = EntryCard {
        id,
        kind: entry.kind(),
        name,
        file,
        fields: Vec::new(),
        text: None,
        quotes: Vec::new(),
    };
    let Value::Object(fields) = value else {
        return card;
    };
    for (key, value) in &fields {
        match (key.as_str(), value) {
            ("id" | "name" | "title" | "version" | "created_tick" | "tick", _) => {}
            ("text", Value::String(text)) => card.text = Some(text.clone()),
            ("quote" | "evidence", Value::String(quote)) => card.quotes.push(quote.clone()),
            ("node", Value::String(path)) => card
                .fields
                .push(("plan".to_owned(), vec![FieldValue::Plan(path.clone())])),
            (key, value) => {
                let values = list_values(memory, value);
                if !values.is_empty() {
                    card.fields.push((key.replace('_', " "), values));
                }
            }
        }
    }
    card
}

fn list_values(memory: &StoryMemory, value: &Value) -> Vec<FieldValue> {
    match value {
        Value::Null => Vec::new(),
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => vec![match memory.get(text) {
            Some(entry) => FieldValue::Entry {
                id: entry.id().to_owned(),
                name: entry.name(),
            },
            None => FieldValue::Text(text.clone()),
        }],
        Value::Array(list) => list
            .iter()
            .flat_map(|one| list_values(memory, one))
            .collect(),
        // An event of a relationship: what happened, and where that can be read.
        Value::Object(fields) => {
            let words = fields.iter().filter(|(key, _)| key.as_str() != "tick");
            words
                .flat_map(|(_, one)| list_values(memory, one))
                .collect()
        }
        other => vec![FieldValue::Text(other.to_string())],
    }
}
