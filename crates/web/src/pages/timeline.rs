//! *Timeline*: every operation, the latest first, each with the way back.

use axum::extract::{Query, State};
use domain::operation::Verb;
use maud::{Markup, html};
use serde::Deserialize;

use super::{Place, done, shell, time, who};
use crate::api::{Stretch, Timeline, stretch};
use crate::refusal::Refusal;
use crate::{Dashboard, urls};

#[derive(Deserialize)]
pub(crate) struct Done {
    pub(crate) done: Option<String>,
}

pub(crate) async fn page(
    State(dashboard): State<Dashboard>,
    Query(asked): Query<Stretch>,
    Query(after): Query<Done>,
) -> Result<Markup, Refusal> {
    let wanted = asked.clone();
    let timeline = dashboard
        .ask_tree(move |ctx, _| stretch(ctx, &wanted))
        .await?;
    Ok(shell(
        Place::Timeline,
        "Timeline",
        &content(&asked, &timeline, after.done.as_deref()),
    ))
}

/// What is worth filtering by; the rest can be typed into the address.
const VERBS: &[Verb] = &[
    Verb::Observe,
    Verb::Approve,
    Verb::Revalidate,
    Verb::Invalidate,
    Verb::Progress,
    Verb::Comment,
    Verb::Review,
    Verb::Override,
    Verb::Tick,
    Verb::Restore,
    Verb::Undo,
];

fn content(asked: &Stretch, timeline: &Timeline, after: Option<&str>) -> Markup {
    html! {
        h1 { "Timeline" }
        (done(after))
        form.filter action="/timeline" method="get" role="search" {
            label { "Plan" input type="search" name="node" value=(asked.node) autocomplete="off"; }
            label { "What" select name="verb" {
                option value="" { "anything" }
                @for verb in VERBS { option value=(verb.as_str()) selected[verb.as_str() == asked.verb] { (verb.as_str()) } }
            } }
            label { "Who" input type="search" name="by" value=(asked.by) autocomplete="off"; }
            button type="submit" { "Filter" }
        }
        section #operations data-live {
            @if timeline.operations.is_empty() { p.quiet { "Nothing fits." } }
            ol.timeline {
                @for operation in &timeline.operations {
                    li.card {
                        p { span.tag { (operation.verb.as_str()) } " " (operation.summary) }
                        p.quiet {
                            span.number { (operation.operation) } " · " (who(&operation.by)) " · " (time(operation.at))
                        }
                        @if let Some(by) = operation.undone_by { p.quiet { "undone by " (by) } }
                        @else if operation.verb != Verb::Init {
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
                    a rel="next" href={ "/timeline?before=" (next) "&node=" (urls::value(&asked.node))
                        "&verb=" (urls::value(&asked.verb)) "&by=" (urls::value(&asked.by)) } { "Older" }
                }
            }
        }
    }
}
