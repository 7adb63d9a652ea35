//! Page *Memory*: notes, story entries, and the graph of relationships.

use application::memory::draw_graph::{GraphFormat, draw_graph};
use application::memory::show_memory::EntryView;
use axum::extract::{Query, State};
use maud::{Markup, PreEscaped, html};
use serde_json::Value;

use super::{NavigationEntry, render_page, render_time};
use crate::Dashboard;
use crate::api::{Memories, Search, Tie, memories};
use crate::frame::Page;
use crate::refusal::Refusal;

pub(crate) async fn memory_page(
    State(dashboard): State<Dashboard>,
    Query(asked): Query<Search>,
) -> Result<Page, Refusal> {
    let wanted = asked.clone();
    // In one use case: one store connection for both.
    let (found, graph) = dashboard
        .ask(move |ctx| Ok((memories(ctx, &wanted)?, draw_graph(ctx, GraphFormat::Svg)?)))
        .await?;
    Ok(render_page(
        NavigationEntry::Memory,
        "Memory",
        &render_content(&asked, &found, graph),
    ))
}

fn render_content(asked: &Search, found: &Memories, graph: String) -> Markup {
    let remembered = found.counts.values().sum::<usize>() > 0;
    // An empty query shows the overview; the search needs a word.
    let has_asked = !asked.text.trim().is_empty();
    html! {
        h1 { "Memory" }
        form.filter action="/memory" method="get" role="search" {
            label { "Words" input type="search" name="text" value=(asked.text) autocomplete="off"; }
            label { "Shelf" select name="shelf" {
                option value="" { "any" }
                @for shelf in &found.shelves {
                    option value=(shelf.shelf) selected[shelf.shelf == asked.shelf] { (shelf.shelf) " (" (shelf.notes) ")" }
                }
            } }
            button type="submit" { "Search" }
        }
        section #found data-live {
            @if found.shelves.is_empty() && !remembered {
                p.quiet { "No memory yet: " code { "tl note add" } " keeps a note, " code { "tl story memory" } " a character or a place." }
            }
            @else if has_asked && found.notes.is_empty() && found.entries.is_empty() { p.quiet { "No results." } }
            ul.cards {
                @for entry in &found.entries { li.card { (render_entry(entry)) } }
                @for note in &found.notes {
                    li.card {
                        p.note dir="auto" { (note.text) }
                        p.quiet { span.tag { (note.shelf) } " " (note.stamp) " · " (render_time(note.at)) }
                    }
                }
            }
        }
        section #story data-live {
            @if remembered {
                h2 { "The story" }
                ul.counts { @for (kind, number) in found.counts.iter().filter(|(_, number)| **number > 0) {
                    li { span.count { span.number { (number) } (kind) } }
                } }
            }
        }
        section #relationships data-live {
            @if !found.relationships.is_empty() {
                h2 { "Relationships" }
                // The names inside are escaped where the picture is drawn.
                figure.graph { (PreEscaped(graph.replacen("<svg ", "<svg role=\"img\" aria-label=\"Graph of relationships; the list below has the same content\" ", 1))) }
                ul.ties { @for tie in &found.relationships { li { (render_relationship(tie)) } } }
            }
        }
    }
}

fn render_entry(entry: &EntryView) -> Markup {
    html! {
        p { strong { (entry.name) } " " span.tag { (entry.kind) } " " code { (entry.id) } }
        @if let Value::Object(fields) = &entry.entry {
            dl.arguments {
                @for (name, value) in fields.iter().filter(|(name, value)| *name != "id" && *name != "name" && has_content(value)) {
                    dt { (name.replace('_', " ")) }
                    dd { @match value { Value::String(text) => (text), other => code { (other) } } }
                }
            }
        }
        p.quiet { code { (entry.file) } }
    }
}

fn has_content(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

fn render_relationship(tie: &Tie) -> Markup {
    let [a, b] = &tie.between;
    html! {
        strong { (a) } " and " strong { (b) }
        @for word in [&tie.kind, &tie.status] { @if !word.is_empty() { " · " (word) } }
        " · intensity " span.number { (tie.intensity) }
    }
}
