//! Page *Search*: hits in plans, prose, comments, notes, memory and the log.

use application::Failure;
use application::search::{SearchHitView, SearchOutcome};
use axum::extract::{Query, State};
use domain::search::documents::DocumentKind;
use domain::search::snippet::Snippet;
use maud::{Markup, html};

use super::{NavigationEntry, render_page, render_status, render_time};
use crate::Dashboard;
use crate::api::{SearchText, search_everywhere};
use crate::frame::Page;
use crate::refusal::Refusal;
use crate::urls;

pub(crate) async fn search_page(
    State(dashboard): State<Dashboard>,
    Query(asked): Query<SearchText>,
) -> Result<Page, Refusal> {
    let text = asked.text.trim().to_owned();
    let found = match text.is_empty() {
        true => None,
        false => {
            let asked = asked.clone();
            // A wrong filter is shown on the page, beside the query that has it.
            Some(
                dashboard
                    .ask(move |ctx| Ok(search_everywhere(ctx, &asked)))
                    .await?,
            )
        }
    };
    Ok(render_page(
        NavigationEntry::Search,
        "Search",
        &render_content(&text, found.as_ref()),
    ))
}

fn render_content(text: &str, found: Option<&Result<SearchOutcome, Failure>>) -> Markup {
    html! {
        h1 { "Search" }
        form.filter action="/search" method="get" role="search" {
            label { "Words" input type="search" name="text" value=(text) autocomplete="off"; }
            button type="submit" { "Search" }
        }
        p.quiet {
            "Filters: " code { "kind:plan" } " (prose, comment, note, memory, log), " code { "status:stale" } ", "
            code { "under:act-2" } "; words in quotation marks follow each other."
        }
        section #found {
            @match found {
                None => {},
                Some(Err(failure)) => { p role="alert" { (super::render_message(&failure.message)) } },
                Some(Ok(outcome)) => (render_outcome(outcome)),
            }
        }
    }
}

fn render_outcome(outcome: &SearchOutcome) -> Markup {
    html! {
        @for correction in &outcome.corrections {
            p.quiet { code { (correction.word) } " occurs nowhere; searched for " (correction.searched.join(", ")) }
        }
        @if outcome.hits.is_empty() { p.quiet { "No results." } }
        ol.cards { @for hit in &outcome.hits { li.card { (render_hit(hit)) } } }
        @if outcome.has_more { p.quiet { "There are more results; add words or a filter." } }
    }
}

fn render_hit(hit: &SearchHitView) -> Markup {
    html! {
        p {
            @match hit.kind {
                DocumentKind::Plan | DocumentKind::Comment => { a href=(urls::node_url(&hit.id)) { (hit.id) } },
                DocumentKind::Prose => { a href={ "/prose/" (urls::encode_path(&hit.id)) } { (hit.id) } },
                DocumentKind::Note | DocumentKind::Memory | DocumentKind::Log => { code { (hit.id) } },
            }
            @if let Some(title) = &hit.title { " " strong dir="auto" { (title) } }
            " " span.tag { (hit.kind.as_str()) }
            @if let Some(status) = hit.status { " " (render_status(status)) }
        }
        p.note dir="auto" { (render_snippet(&hit.snippet)) }
        @if hit.by.is_some() || hit.file.is_some() {
            p.quiet {
                @if let Some(file) = &hit.file { code { (file) ":" (hit.snippet.line) } " " }
                @if let Some(by) = &hit.by { (by) " " }
                @if let Some(at) = hit.at { (render_time(at)) }
            }
        }
    }
}

fn render_snippet(snippet: &Snippet) -> Markup {
    let chars: Vec<char> = snippet.text.chars().collect();
    let part = |from: usize, to: usize| -> String { chars.iter().take(to).skip(from).collect() };
    // Built from pieces that are escaped one by one: marks put into the text would need raw HTML.
    let ends = snippet.matches.iter().map(|[_, end]| *end);
    let starts = std::iter::once(0).chain(ends);
    let last = snippet.matches.last().map_or(0, |[_, end]| *end);
    html! {
        @for (from, [start, end]) in starts.zip(&snippet.matches) {
            (part(from, *start)) mark { (part(*start, *end)) }
        }
        (part(last, chars.len()))
    }
}
