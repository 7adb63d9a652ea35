//! Page *Outline*: titles, synopses and statuses of plans as one document to read. A large project is
//! folded below the levels that fit; each folded plan leads to an outline of its own.

use application::make_outline::{MAX_PART_ENTRIES, OutlinePart, outline_part};
use axum::extract::{Query, State};
use domain::outline::OutlineEntry;
use domain::text::count_with_noun;
use maud::{Markup, PreEscaped, html};
use serde::Deserialize;

use super::{NavigationEntry, render_page, render_progress, render_status};
use crate::frame::Page;
use crate::markdown::render_markdown;
use crate::refusal::Refusal;
use crate::{Dashboard, urls};

/// Query of the page.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct OutlineQuery {
    /// The plan at the top; all plans if empty.
    node: String,
    offset: usize,
}

pub(crate) async fn outline_page(
    State(dashboard): State<Dashboard>,
    Query(asked): Query<OutlineQuery>,
) -> Result<Page, Refusal> {
    let wanted = asked.clone();
    let part = dashboard
        .ask_tree(move |ctx, known| outline_part(ctx, known, &wanted.node, wanted.offset))
        .await?;
    Ok(render_page(
        NavigationEntry::Elsewhere,
        "Outline",
        &render_content(&asked, &part),
    ))
}

fn outline_url(node: &str, offset: usize) -> String {
    let offset = match offset {
        0 => String::new(),
        other => other.to_string(),
    };
    urls::with_query("/outline", &[("node", node), ("offset", &offset)])
}

fn render_content(asked: &OutlineQuery, part: &OutlinePart) -> Markup {
    let last = part.offset + part.outline.entries.len();
    html! {
        @if !asked.node.is_empty() {
            nav.lineage aria-label="Above" { ol {
                li { a href="/outline" { "Outline" } }
                @for (above, name) in list_above(&asked.node) { li { a href=(outline_url(above, 0)) { (name) } } }
                li { span.id aria-current="page" { (asked.node) } }
            } }
        }
        h1 dir="auto" { (part.outline.title) }
        article.outline #outline {
            @if part.outline.entries.is_empty() { p.quiet { "There is no plan yet. " a href="/" { "First steps" } } }
            @for (entry, folded) in part.outline.entries.iter().zip(&part.folded) { (render_entry(entry, *folded)) }
        }
        nav.pages aria-label="Parts of the outline" {
            @if part.offset > 0 { a rel="prev" href=(outline_url(&asked.node, part.offset.saturating_sub(MAX_PART_ENTRIES))) { "Before" } }
            @if last < part.total { a rel="next" href=(outline_url(&asked.node, last)) { "After" } }
        }
    }
}

/// Returns the paths above a plan with their ids, from the root on.
fn list_above(path: &str) -> impl Iterator<Item = (&str, &str)> {
    let ends = path.match_indices('/').map(|(end, _)| end);
    ends.filter_map(|end| {
        let above = path.get(..end)?;
        Some((above, above.rsplit('/').next().unwrap_or(above)))
    })
}

fn render_entry(entry: &OutlineEntry, folded: usize) -> Markup {
    let level = (entry.depth + 2).min(6);
    let name = entry.title.as_deref().unwrap_or(&entry.path);
    let heading = html! {
        a href=(urls::node_url(&entry.path)) dir="auto" { (name) } " " code.id { (entry.path) }
    };
    html! {
        section.entry data-depth=(entry.depth.min(6)) {
            // The level is a number: no name of a plan is in the tags.
            (PreEscaped(format!("<h{level}>"))) (heading) (PreEscaped(format!("</h{level}>")))
            p.quiet { (render_status(entry.status)) " " (render_progress(entry.progress)) }
            @if let Some(synopsis) = &entry.synopsis { div.prose dir="auto" { (render_markdown(synopsis)) } }
            @if folded > 0 { p { a href=(outline_url(&entry.path, 0)) { (count_with_noun(folded, "plan", "plans")) " below" } } }
        }
    }
}
