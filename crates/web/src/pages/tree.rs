//! Page *Tree*: all plans in order. The page has one window of rows; a script loads others while
//! scrolling, so that ten thousand plans do not make a slow page.

use application::tree_window::{TreeWindow, WindowRequest, list_tree_window};
use axum::extract::{Query, State};
use domain::duplicate_ids::DUPLICATE_MARK;
use domain::node::Status;
use maud::{Markup, html};

use super::{NavigationEntry, render_page, render_progress, render_status};
use crate::frame::Page;
use crate::refusal::Refusal;
use crate::{Dashboard, urls};

pub(crate) async fn tree_page(
    State(dashboard): State<Dashboard>,
    Query(wanted): Query<WindowRequest>,
) -> Result<Page, Refusal> {
    let request = wanted.clone();
    let window = dashboard
        .ask_tree(move |_, known| Ok(list_tree_window(known, &request)))
        .await?;
    Ok(render_page(
        NavigationEntry::Tree,
        "Tree",
        &render_content(&wanted, &window),
    ))
}

fn render_content(wanted: &WindowRequest, window: &TreeWindow) -> Markup {
    let last = window.offset + window.rows.len();
    html! {
        h1 { "Tree" }
        p.quiet { a href="/outline" { "Outline" } " · " a href="/stats" { "Stats" } }
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
                        a href=(urls::node_url(&row.path)) {
                            span.name dir="auto" { (row.title.as_deref().unwrap_or(&row.entity_id)) }
                            span.quiet.path { (row.path) }
                            @if row.duplicate { span.tag { (DUPLICATE_MARK) } }
                            @if let Some(phase) = &row.phase { span.tag { (phase) } }
                            (render_progress(row.progress))
                            (render_status(row.status))
                        }
                    }
                }
            }
        }
        nav.pages aria-label="Parts of the list" {
            @if window.offset > 0 { a rel="prev" href=(window_url(wanted, window.offset.saturating_sub(100))) { "Before" } }
            @if last < window.total { a rel="next" href=(window_url(wanted, last)) { "After" } }
        }
        p.quiet.keys { "Keys: " kbd { "/" } " filter, " kbd { "↑" } " " kbd { "↓" } " move, " kbd { "Enter" } " open" }
    }
}

// Links instead of script alone: the tree has to work without JavaScript.
fn window_url(wanted: &WindowRequest, offset: usize) -> String {
    let WindowRequest {
        text,
        status,
        phase,
        ..
    } = wanted;
    // The filter goes along, so that the next part is of the same list.
    let [text, status, phase] = [text, status, phase].map(|value| urls::encode_query_value(value));
    format!("/tree?text={text}&status={status}&phase={phase}&offset={offset}")
}
