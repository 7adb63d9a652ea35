//! *Memory*: the notes of the project, by their words.

use axum::extract::{Query, State};
use maud::{Markup, html};

use super::{Place, shell, time};
use crate::Dashboard;
use crate::api::{Memories, Search, memories};
use crate::refusal::Refusal;

pub(crate) async fn page(State(dashboard): State<Dashboard>, Query(asked): Query<Search>) -> Result<Markup, Refusal> {
    let wanted = asked.clone();
    let found = dashboard.ask(move |ctx| memories(ctx, &wanted)).await?;
    Ok(shell(Place::Memory, "Memory", &content(&asked, &found)))
}

fn content(asked: &Search, found: &Memories) -> Markup {
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
        section #notes data-live {
            @if found.shelves.is_empty() { p.quiet { "No note has been kept yet: `tl mem save` keeps one." } }
            @else if asked.text.trim().is_empty() { p.quiet { "Type some words of the note you look for." } }
            @else if found.notes.is_empty() { p.quiet { "No note has these words." } }
            ul.cards {
                @for note in &found.notes {
                    li.card {
                        p.note { (note.text) }
                        p.quiet { span.tag { (note.shelf) } " " (note.stamp) " · " (time(note.at)) }
                    }
                }
            }
        }
    }
}
