//! Page *Memory*: notes, pinned notes and story entries to browse, and the graph of relationships.

use application::memory::browse_memory::{
    BrowseRequest, EntryCard, FieldValue, MemoryBrowse, browse_memory,
};
use application::sessions::notes::NoteView;
use application::show_graph::{GraphRequest, GraphView, show_graph};
use axum::extract::{Query, State};
use domain::memory::EntryKind;
use maud::{Markup, html};

use super::graph::render_drawing;
use super::tree::render_chip;
use super::{NavigationEntry, render_page, render_time};
use crate::components::render_empty_state;
use crate::frame::Page;
use crate::refusal::Refusal;
use crate::{Dashboard, markdown, urls};

pub(crate) async fn memory_page(
    State(dashboard): State<Dashboard>,
    Query(asked): Query<BrowseRequest>,
) -> Result<Page, Refusal> {
    let wanted = asked.clone();
    // In one use case: one store connection for both.
    let (found, relations) = dashboard
        .ask_tree(move |ctx, known| {
            let found = browse_memory(ctx, &wanted)?;
            let shows_graph = found.is_overview || wanted.kind == EntryKind::Relationship.as_str();
            let request = GraphRequest {
                kind: "relations".to_owned(),
                ..GraphRequest::default()
            };
            let relations = match shows_graph && count_of(&found, EntryKind::Relationship) > 0 {
                true => Some(show_graph(ctx, known, &request)?),
                false => None,
            };
            Ok((found, relations))
        })
        .await?;
    Ok(render_page(
        NavigationEntry::Memory,
        "Memory",
        &render_content(&asked, &found, relations.as_ref()),
    ))
}

fn count_of(found: &MemoryBrowse, wanted: EntryKind) -> usize {
    let mut kinds = found.kinds.iter();
    kinds
        .find(|(kind, _)| *kind == wanted)
        .map_or(0, |(_, count)| *count)
}

fn render_content(
    asked: &BrowseRequest,
    found: &MemoryBrowse,
    relations: Option<&GraphView>,
) -> Markup {
    let is_empty = found.note_count == 0 && found.kinds.iter().all(|(_, count)| *count == 0);
    html! {
        h1 { "Memory" }
        @if is_empty {
            (render_empty_state("Nothing is remembered yet", &html! {
                "A note keeps what has to outlast a conversation: " code { "tl note add" } ". A story also remembers people, places and open loops: " code { "tl story memory" } "."
            }, &html! {}))
        } @else {
            form.filter action="/memory" method="get" role="search" {
                label { "Words" input type="search" name="text" value=(asked.text) autocomplete="off"; }
                @if !asked.shelf.is_empty() { input type="hidden" name="shelf" value=(asked.shelf); }
                button type="submit" { "Search" }
            }
            (render_choices(asked, found))
            (render_found(asked, found))
            @if let Some(graph) = relations {
                section #relationships data-live {
                    h2 { "Relationships" }
                    div.scroll.drawing tabindex="0" role="region" aria-label="Drawing of the relationships" { (render_drawing(graph, 100)) }
                    p { a href="/graph?kind=relations" { "Open the graph" } " · " a href="/memory?kind=relationship" { "Read them" } }
                }
            }
        }
    }
}

fn render_choices(asked: &BrowseRequest, found: &MemoryBrowse) -> Markup {
    let is_plain = asked.text.is_empty() && asked.entry.is_empty();
    let is_chosen = |kind: &str| is_plain && asked.shelf.is_empty() && asked.kind == kind;
    let chip = |label: String, kind: &str| {
        let address = urls::with_query("/memory", &[("kind", kind)]);
        render_chip(&label, &address, is_chosen(kind))
    };
    html! {
        div.filters {
            nav.chips aria-label="Kind" {
                (chip("overview".to_owned(), ""))
                @for (kind, count) in found.kinds.iter().filter(|(_, count)| *count > 0) { (chip(format!("{} {count}", kind_label(*kind)), kind.as_str())) }
                @if found.pinned_count > 0 { (chip(format!("pinned notes {}", found.pinned_count), "pinned")) }
                @if found.note_count > 0 { (chip(format!("notes {}", found.note_count), "note")) }
            }
            @if found.shelves.len() > 1 || !asked.shelf.is_empty() {
                nav.chips aria-label="Shelf" { @for shelf in &found.shelves {
                    (render_chip(&format!("{} {}", shelf.shelf, shelf.notes), &urls::with_query("/memory", &[("shelf", &shelf.shelf)]), shelf.shelf == asked.shelf))
                } }
            }
        }
    }
}

fn render_found(asked: &BrowseRequest, found: &MemoryBrowse) -> Markup {
    html! {
        section #found data-live {
            @if found.notes.is_empty() && found.entries.is_empty() && !found.is_overview { p.quiet { "Nothing found." } }
            @if !found.entries.is_empty() { h2 { (describe_entries(asked, found)) } }
            ul.cards { @for card in &found.entries { li.card { (render_card(card)) } } }
            @if !found.named_by.is_empty() {
                h2 { "Named by" }
                ul.cards { @for card in &found.named_by { li.card { (render_card(card)) } } }
            }
            @if !found.notes.is_empty() {
                h2 { @if found.is_overview { "Latest notes" } @else { "Notes" } }
                ul.cards { @for note in &found.notes { li.card { (render_note(note)) } } }
            }
        }
    }
}

/// Returns the heading above the entries.
fn describe_entries(asked: &BrowseRequest, found: &MemoryBrowse) -> String {
    match EntryKind::from_word(&asked.kind) {
        _ if found.is_overview => "Open loops".to_owned(),
        Some(kind) if asked.text.is_empty() => {
            let mut letters = kind_label(kind).chars();
            let first = letters.next().map(|letter| letter.to_ascii_uppercase());
            first.into_iter().chain(letters).collect()
        }
        _ => "Entries".to_owned(),
    }
}

/// Names a kind of entries as people say it.
fn kind_label(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Character => "people",
        EntryKind::Location => "places",
        EntryKind::Relationship => "relations",
        EntryKind::Scene => "scenes",
        EntryKind::Loop => "loops",
        EntryKind::Lore => "lore",
        EntryKind::Fact => "facts",
    }
}

fn entry_url(id: &str) -> String {
    urls::with_query("/memory", &[("entry", id)])
}

fn render_card(card: &EntryCard) -> Markup {
    html! {
        h3 { a href=(entry_url(&card.id)) dir="auto" { (card.name) } " " span.tag { (card.kind) } " " code.id { (card.id) } }
        @if let Some(text) = &card.text { @if *text != card.name { div.prose dir="auto" { (markdown::render_markdown(text)) } } }
        @if !card.fields.is_empty() {
            dl.arguments { @for (label, values) in &card.fields {
                dt { (label) }
                dd { @for (index, value) in values.iter().enumerate() { @if index > 0 { " · " } (render_value(value)) } }
            } }
        }
        @for quote in &card.quotes { blockquote.quote dir="auto" { (quote) } }
        p.quiet { code { (card.file) } }
    }
}

fn render_value(value: &FieldValue) -> Markup {
    html! {
        @match value {
            FieldValue::Text(text) => span dir="auto" { (text) },
            FieldValue::Entry { id, name } => a href=(entry_url(id)) dir="auto" { (name) },
            FieldValue::Plan(path) => a href=(urls::node_url(path)) { (path) },
        }
    }
}

fn render_note(note: &NoteView) -> Markup {
    html! {
        div.prose dir="auto" { (markdown::render_markdown(&note.text)) }
        p.quiet {
            @if note.pinned { span.tag { "pinned" } " " }
            @if let Some(shelf) = &note.shelf { a href=(urls::with_query("/memory", &[("shelf", shelf)])) { (shelf) } " · " }
            code { (note.stamp) } " · " (render_time(note.at))
        }
    }
}
