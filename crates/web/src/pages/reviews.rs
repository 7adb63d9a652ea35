//! *Reviews*: the workflows under way, the checks of each review, and what a person has to decide.

use application::reviews::ReviewView;
use axum::extract::{Query, State};
use domain::review::Item;
use maud::{Markup, html};

use super::timeline::Done;
use super::{Place, done, shell, who};
use crate::Dashboard;
use crate::api::{Reviews, reviewed};
use crate::refusal::Refusal;

pub(crate) async fn page(State(dashboard): State<Dashboard>, Query(after): Query<Done>) -> Result<Markup, Refusal> {
    let found = dashboard.ask(reviewed).await?;
    Ok(shell(Place::Reviews, "Reviews", &content(&found, after.done.as_deref())))
}

fn content(found: &Reviews, after: Option<&str>) -> Markup {
    html! {
        h1 { "Reviews" }
        (done(after))
        section #workflows data-live {
            h2 { "Workflows under way" }
            @if found.workflows.is_empty() { p.quiet { "None is under way." } }
            ul.cards { @for line in &found.workflows {
                li.card {
                    p { strong { (line.flow.subject) } " " span.tag { (line.flow.workflow) } }
                    p { "Step " (line.flow.number) " of " (line.flow.steps) ": " (line.flow.title) " " span.tag { (line.flow.role) } }
                }
            } }
        }
        section #reviews data-live {
            h2 { "Reviews" }
            @if found.reviews.is_empty() { p.quiet { "There is no review." } }
            @for review in &found.reviews { (one(review)) }
        }
    }
}

fn one(review: &ReviewView) -> Markup {
    html! {
        details.card open[!review.escalated.is_empty()] {
            summary {
                strong { (review.subject) } " " span.tag { (review.state.word().to_lowercase()) }
                " iteration " (review.iteration) " of " (review.last_iteration) ", "
                (review.todo.len()) " to judge, " (review.blocking.len()) " blocking, " (review.escalated.len()) " for a person"
            }
            ul { @for item in &review.items { li { (check(&review.subject, item)) } } }
        }
    }
}

fn check(subject: &str, item: &Item) -> Markup {
    html! {
        p { code { (item.id) } " " span.tag { (item.status.word().to_lowercase()) } " " span.tag { (item.severity) } " " (item.check) }
        @if let Some(finding) = &item.finding { p.note { (finding) } }
        @if let Some(resolution) = &item.resolution { p.quiet { (resolution.reason) " · " (who(&resolution.by)) } }
        @if item.is_escalated() {
            form action="/do/accept" method="post" {
                input type="hidden" name="subject" value=(subject);
                input type="hidden" name="item" value=(item.id);
                label { "Why it may stay as it is" textarea name="text" rows="2" required {} }
                button type="submit" { "Accept " (item.id) }
            }
        }
    }
}
