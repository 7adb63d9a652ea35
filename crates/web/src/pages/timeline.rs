//! Page *Timeline*: operations, newest first, each with an undo button.

use axum::extract::{Query, State};
use domain::operation::Verb;
use maud::{Markup, html};
use serde::Deserialize;

use super::{NavigationEntry, render_notice, render_page, render_principal, render_time};
use crate::api::{Stretch, Timeline, stretch};
use crate::frame::{Page, Rights};
use crate::refusal::Refusal;
use crate::{Dashboard, urls};

#[derive(Deserialize)]
pub(crate) struct Done {
    pub(crate) done: Option<String>,
}

pub(crate) async fn timeline_page(
    State(dashboard): State<Dashboard>,
    rights: Rights,
    Query(asked): Query<Stretch>,
    Query(after): Query<Done>,
) -> Result<Page, Refusal> {
    // The page repeats the filter in its form and in the link to the next page.
    let wanted = asked.clone();
    let timeline = dashboard
        .ask_tree(move |ctx, _| stretch(ctx, &wanted))
        .await?;
    Ok(render_page(
        NavigationEntry::Timeline,
        "Timeline",
        &render_content(&rights, &asked, &timeline, after.done.as_deref()),
    ))
}

/// Verbs in the filter; others work in the URL.
const FILTER_VERBS: &[Verb] = &[
    Verb::Observe,
    Verb::Submit,
    Verb::Approve,
    Verb::Revalidate,
    Verb::RequestChanges,
    Verb::Invalidate,
    Verb::Progress,
    Verb::Comment,
    Verb::Review,
    Verb::Override,
    Verb::Tick,
    Verb::Restore,
    Verb::Undo,
];

fn render_content(
    rights: &Rights,
    asked: &Stretch,
    timeline: &Timeline,
    after: Option<&str>,
) -> Markup {
    html! {
        h1 { "Timeline" }
        (render_notice(after))
        form.filter action="/timeline" method="get" role="search" {
            label { "Plan" input type="search" name="node" value=(asked.node) autocomplete="off"; }
            label { "What" select name="verb" {
                option value="" { "anything" }
                @for verb in FILTER_VERBS { option value=(verb.as_str()) selected[verb.as_str() == asked.verb] { (verb.as_str()) } }
            } }
            label { "Who" input type="search" name="by" value=(asked.by) autocomplete="off"; }
            button type="submit" { "Filter" }
        }
        section #operations data-live {
            @if timeline.operations.is_empty() { p.quiet { "No operations match." } }
            ol.timeline {
                @for operation in &timeline.operations {
                    li.card {
                        p { span.tag { (operation.verb.as_str()) } " " (operation.summary) }
                        p.quiet {
                            span.number { (operation.operation) } " · " (render_principal(&operation.by)) " · " (render_time(operation.at))
                        }
                        @if let Some(by) = operation.undone_by { p.quiet { "undone by " (by) } }
                        // The first operation creates the project; there is nothing before it to go back to.
                        @else if operation.verb != Verb::Init && rights.allow("undo") {
                            form action="/do/undo" method="post" {
                                input type="hidden" name="operation" value=(operation.operation);
                                button.small type="submit" { "Undo" span.hidden { " operation " (operation.operation) } }
                            }
                        }
                    }
                }
            }
            @if let Some(next) = timeline.next {
                nav.pages aria-label="Parts of the log" {
                    a rel="next" href={ "/timeline?before=" (next) "&node=" (urls::encode_query_value(&asked.node))
                        "&verb=" (urls::encode_query_value(&asked.verb)) "&by=" (urls::encode_query_value(&asked.by)) } { "Older" }
                }
            }
        }
    }
}
