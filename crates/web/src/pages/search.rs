//! Page *Search*: hits in plans, prose, comments, notes, memory and the log.

use application::Failure;
use application::search::{SearchHitView, SearchOutcome};
use axum::extract::{Query, State};
use domain::node::Status;
use domain::search::documents::DocumentKind;
use domain::search::snippet::Snippet;
use maud::{Markup, html};

use super::tree::render_chip;
use super::{NavigationEntry, render_page, render_status, render_time};
use crate::Dashboard;
use crate::api::{MAX_HITS, SearchText, search_everywhere};
use crate::frame::Page;
use crate::refusal::Refusal;
use crate::urls;

pub(crate) async fn search_page(
    State(dashboard): State<Dashboard>,
    Query(asked): Query<SearchText>,
) -> Result<Page, Refusal> {
    let text = asked.text.trim().to_owned();
    // Punctuation alone is no query.
    let found = match text.contains(char::is_alphanumeric) {
        false => None,
        true => {
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
        &render_content(&text, asked.clamped_limit(), found.as_ref()),
    ))
}

fn render_content(
    text: &str,
    limit: usize,
    found: Option<&Result<SearchOutcome, Failure>>,
) -> Markup {
    let more = (limit < MAX_HITS).then(|| {
        let next = (limit * 2).min(MAX_HITS).to_string();
        urls::with_query("/search", &[("q", text), ("limit", &next)])
    });
    html! {
        h1 { "Search" }
        form.filter action="/search" method="get" role="search" {
            label { "Words" input type="search" name="text" value=(text) autocomplete="off" autofocus[text.is_empty()]; }
            button type="submit" { "Search" }
        }
        @if !text.is_empty() { (render_filters(text)) }
        p.quiet { "Words in quotation marks follow each other; " code { "under:act-2" } " is only what is below that plan." }
        section #found {
            @match found {
                None if !text.is_empty() => p.quiet { "Type the words to search for." },
                None => {},
                Some(Err(failure)) => { p role="alert" { (super::render_message(&failure.message)) } },
                Some(Ok(outcome)) => (render_outcome(outcome, more.as_deref())),
            }
        }
    }
}

/// Renders the filters as links: each adds a word to the query, or takes it out again.
fn render_filters(text: &str) -> Markup {
    let statuses = Status::ALL.map(|status| format!("status:{}", status.as_str()));
    let kinds = DocumentKind::ALL.map(|kind| format!("kind:{}", kind.as_str()));
    html! {
        div.filters {
            (render_filter_chips("Kind", "kind:", "everything", text, &kinds))
            (render_filter_chips("Status", "status:", "any status", text, &statuses))
        }
    }
}

fn render_filter_chips(
    label: &str,
    prefix: &str,
    without: &str,
    text: &str,
    filters: &[String],
) -> Markup {
    let chosen = text
        .split_whitespace()
        .find(|word| word.starts_with(prefix));
    let others: Vec<&str> = text
        .split_whitespace()
        .filter(|word| !word.starts_with(prefix))
        .collect();
    let address = |filter: &str| {
        let words: Vec<&str> = others.iter().copied().chain([filter]).collect();
        urls::with_query("/search", &[("q", words.join(" ").trim())])
    };
    html! {
        nav.chips aria-label=(label) {
            (render_chip(without, &address(""), chosen.is_none()))
            @for filter in filters {
                (render_chip(name_filter(filter), &address(filter), chosen == Some(filter.as_str())))
            }
        }
    }
}

/// Returns a filter as people call it: `stale` for `status:requires-revalidation`.
fn name_filter(filter: &str) -> &str {
    let (_, word) = filter.split_once(':').unwrap_or(("", filter));
    let status = Status::ALL.into_iter().find(|one| one.as_str() == word);
    status.map_or(word, |status| status.label())
}

fn render_outcome(outcome: &SearchOutcome, more: Option<&str>) -> Markup {
    html! {
        @for correction in &outcome.corrections {
            p.quiet { code { (correction.word) } " occurs nowhere; searched for " (correction.searched.join(", ")) }
        }
        @if outcome.hits.is_empty() { p.quiet { "No results." } }
        ol.cards { @for hit in &outcome.hits { li.card { (render_hit(hit)) } } }
        @match more {
            Some(more) if outcome.has_more => nav.pages aria-label="More results" { a rel="next" href=(more) { "More results" } },
            _ if outcome.has_more => p.quiet { "There are more results; add words or a filter." },
            _ => {},
        }
    }
}

/// Returns where a hit is read.
fn hit_url(hit: &SearchHitView) -> String {
    match hit.kind {
        DocumentKind::Plan | DocumentKind::Comment => urls::node_url(&hit.id),
        DocumentKind::Prose => format!("/prose/{}", urls::encode_path(&hit.id)),
        DocumentKind::Log => format!("/operations/{}", urls::encode_path(&hit.id)),
        DocumentKind::Memory => urls::with_query("/memory", &[("entry", &hit.id)]),
        DocumentKind::Note => urls::with_query("/memory", &[("text", &hit.id)]),
    }
}

fn render_hit(hit: &SearchHitView) -> Markup {
    html! {
        p {
            a href=(hit_url(hit)) dir="auto" {
                @match (&hit.title, hit.kind) {
                    (Some(title), _) => (title),
                    (None, DocumentKind::Log) => { "Operation " (hit.id) },
                    (None, DocumentKind::Note) => { "Note " (hit.id) },
                    (None, _) => (hit.id),
                }
            }
            @if hit.title.is_some() { " " code.id { (hit.id) } }
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
