//! *Tree*: every plan, in order. A window of it comes with the page; the script asks for others while scrolling.

use application::tree_window::{TreeWindow, WindowRequest, list_tree_window};
use axum::extract::{Query, State};
use domain::node::Status;
use maud::{Markup, html};

use super::{Place, progress, shell, status};
use crate::refusal::Refusal;
use crate::{Dashboard, urls};

pub(crate) async fn page(
    State(dashboard): State<Dashboard>,
    Query(wanted): Query<WindowRequest>,
) -> Result<Markup, Refusal> {
    let request = wanted.clone();
    let window = dashboard
        .ask_tree(move |_, known| Ok(list_tree_window(known, &request)))
        .await?;
    Ok(shell(Place::Tree, "Tree", &content(&wanted, &window)))
}

fn content(wanted: &WindowRequest, window: &TreeWindow) -> Markup {
    let last = window.offset + window.rows.len();
    html! {
        h1 { "Tree" }
        form.filter action="/tree" method="get" role="search" {
            label { "Text" input type="search" name="text" value=(wanted.text) autocomplete="off"; }
            label { "Status" select name="status" {
                option value="" { "any" }
                @for one in Status::ALL { option value=(one.as_str()) selected[one.as_str() == wanted.status] { (one.as_str()) } }
            } }
            @if !window.phases.is_empty() {
                label { "Phase" select name="phase" {
                    option value="" { "any" }
                    @for phase in &window.phases { option value=(phase) selected[*phase == wanted.phase] { (phase) } }
                } }
            }
            button type="submit" { "Filter" }
        }
        p.quiet role="status" #found { (window.total) @if wanted.is_filtered() { " found" } @else { " plans" } }
        tl-tree data-total=(window.total) data-offset=(window.offset) {
            ol.tree start=(window.offset + 1) {
                @for row in &window.rows {
                    li.row data-depth=(row.depth.min(12)) {
                        a href=(urls::node(&row.path)) {
                            span.name dir="auto" { (row.title.as_deref().unwrap_or(&row.entity_id)) }
                            span.quiet.path { (row.path) }
                            @if let Some(phase) = &row.phase { span.tag { (phase) } }
                            (progress(row.progress))
                            (status(row.status))
                        }
                    }
                }
            }
        }
        nav.pages aria-label="Parts of the list" {
            @if window.offset > 0 { a rel="prev" href=(part(wanted, window.offset.saturating_sub(100))) { "Before" } }
            @if last < window.total { a rel="next" href=(part(wanted, last)) { "After" } }
        }
        p.quiet.keys { "Keys: " kbd { "/" } " filter, " kbd { "↑" } " " kbd { "↓" } " move, " kbd { "Enter" } " open" }
    }
}

fn part(wanted: &WindowRequest, offset: usize) -> String {
    let WindowRequest {
        text,
        status,
        phase,
        ..
    } = wanted;
    let [text, status, phase] = [text, status, phase].map(|value| urls::value(value));
    format!("/tree?text={text}&status={status}&phase={phase}&offset={offset}")
}
