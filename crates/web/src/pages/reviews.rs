//! Page *Reviews*: workflows in progress, the checks of each review, and the forms for a person.

use application::reviews::ReviewView;
use axum::extract::State;
use domain::review::{ItemStatus, LoopState, ResolutionKind, ReviewItem};
use maud::{Markup, html};

use super::{NavigationEntry, render_page, render_principal, render_time};
use crate::Dashboard;
use crate::api::{Reviews, reviewed};
use crate::frame::{Page, Rights};
use crate::refusal::Refusal;
use crate::titles::PlanTitles;

pub(crate) async fn reviews_page(
    State(dashboard): State<Dashboard>,
    rights: Rights,
) -> Result<Page, Refusal> {
    let found = dashboard.ask(reviewed).await?;
    let subjects = found.reviews.iter().map(|review| &review.subject);
    let subjects = subjects.chain(found.workflows.iter().map(|line| &line.flow.subject));
    // The subject of a workflow's review is `SUBJECT/phase`.
    let named = subjects.flat_map(|subject| {
        let above = subject.rsplit_once('/').map(|(above, _)| above.to_owned());
        above.into_iter().chain([subject.clone()])
    });
    let titles = dashboard.load_titles(named).await;
    Ok(render_page(
        NavigationEntry::Reviews,
        "Reviews",
        &render_content(&rights, &found, &titles),
    ))
}

/// Returns the path of the plan that is reviewed.
fn plan_of<'s>(subject: &'s str, titles: &PlanTitles) -> &'s str {
    match (titles.title_of(subject), subject.rsplit_once('/')) {
        (None, Some((above, _))) if titles.title_of(above).is_some() => above,
        _ => subject,
    }
}

fn render_content(rights: &Rights, found: &Reviews, titles: &PlanTitles) -> Markup {
    html! {
        h1 { "Reviews" }
        section #workflows data-live {
            h2 { "Workflows in progress" }
            @if found.workflows.is_empty() { p.quiet { "No workflow is in progress." } }
            ul.cards { @for line in &found.workflows {
                li.card {
                    p { strong { (titles.link_to(plan_of(&line.flow.subject, titles))) } " " span.tag { (line.flow.workflow) } }
                    p {
                        progress value=(line.flow.number) max=(line.flow.steps) aria-label={ "Steps of " (line.flow.subject) } {}
                        " Step " (line.flow.number) " of " (line.flow.steps) ": " (line.flow.title) " " span.tag { (line.flow.role) }
                    }
                }
            } }
        }
        section #reviews data-live {
            h2 { "Reviews" }
            @if found.reviews.is_empty() { p.quiet { "There is no review." } }
            @for review in &found.reviews { (render_review(rights, review, found, titles)) }
        }
    }
}

fn render_review(
    rights: &Rights,
    review: &ReviewView,
    found: &Reviews,
    titles: &PlanTitles,
) -> Markup {
    // A review of another clone has no checks here, only its verdicts.
    // One right for all forms of a check: they are rows of one action in the scope table.
    let runs =
        review.state != LoopState::Complete && !review.items.is_empty() && rights.allow("conclude");
    // The subject of a workflow's review is `SUBJECT/phase`.
    let about = review.subject.rsplit_once('/').map(|(about, _)| about);
    // A workflow ends its reviews itself; a button here would take a step away from it.
    let is_driven = found
        .workflows
        .iter()
        .any(|line| Some(line.flow.subject.as_str()) == about);
    html! {
        details.card open[!review.escalated.is_empty()] {
            summary {
                strong dir="auto" { (titles.name_of(plan_of(&review.subject, titles))) } " " span.tag { (review.state.as_str().to_lowercase()) }
                " iteration " (review.iteration) " of " (review.last_iteration) ", "
                (review.todo.len()) " to judge, " (review.blocking.len()) " blocking, " (review.escalated.len()) " for a person"
            }
            // Apart: a link in a summary would open the plan and the review at once.
            p.quiet { "Review of " (titles.link_to(plan_of(&review.subject, titles))) }
            ul.checks { @for item in &review.items { li { (render_check(&review.subject, item, runs, "")) } } }
            @for verdict in &review.verdicts {
                p { span.tag { (verdict.outcome.as_str()) } " in iteration " (verdict.iteration) " · " (render_principal(&verdict.by)) " · " (render_time(verdict.at)) }
                @for finding in &verdict.findings { p.note { (finding) } }
            }
            @if runs && review.todo.is_empty() {
                @if is_driven {
                    p.quiet { "Its workflow ends the iteration: " code { "tl flow pass --for " (about.unwrap_or_default()) } }
                } @else {
                    form action="/do/conclude" method="post" {
                        input type="hidden" name="subject" value=(review.subject);
                        input type="hidden" name="iteration" value=(review.iteration);
                        button type="submit" { "End this iteration" span.hidden { " of " (review.subject) } }
                    }
                }
            }
        }
    }
}

/// Renders a check with its forms, which lead back to the page `back` or to the reviews. Forms are only
/// hints: the domain refuses what a rule forbids.
pub(super) fn render_check(subject: &str, item: &ReviewItem, runs: bool, back: &str) -> Markup {
    let accepted = item
        .resolution
        .as_ref()
        .is_some_and(|resolution| resolution.kind == ResolutionKind::Accepted);
    // An accepted finding needs no further verdict.
    let can_judge = runs && !accepted;
    // Only a finding can be accepted; an open check has none.
    let can_accept = can_judge && item.status != ItemStatus::Pass && item.finding.is_some();
    // The version of the check goes with every form: a verdict on another finding is refused.
    let which = html! {
        input type="hidden" name="subject" value=(subject);
        input type="hidden" name="item" value=(item.id);
        input type="hidden" name="item_version" value=(item.version);
        @if !back.is_empty() { input type="hidden" name="back" value=(back); }
    };
    let with_words = |action: &str, label: &str, button: &str, primary: bool| {
        html! {
            form action=(action) method="post" {
                (which)
                label { (label) textarea name="text" rows="2" required {} }
                button.primary[primary] type="submit" { (button) span.hidden { " " (item.id) } }
            }
        }
    };
    html! {
        p { code { (item.id) } " " span.tag { (item.status.as_str().to_lowercase()) } " " span.tag { (item.severity) } " " (item.check)
            @if item.is_escalated() { " " strong { "for you to decide" } } }
        @if let Some(finding) = &item.finding { p.note { (finding) } }
        @if let Some(resolution) = &item.resolution { p.quiet { (resolution.reason) " · " (render_principal(&resolution.by)) } }
        @if can_judge {
            details.decision open[item.is_escalated()] {
                summary { "Decide" span.hidden { " about " (item.id) } }
                div.choices {
                    @if can_accept { (with_words("/do/accept", "Why it may stay as it is", "Accept", true)) }
                    (with_words("/do/send-back", "What is wrong, and where", if item.is_escalated() { "Send back" } else { "Fail" }, false))
                    @if item.status != ItemStatus::Pass {
                        form action="/do/pass" method="post" {
                            (which)
                            p.quiet { "The finding no longer applies." }
                            button type="submit" { "Pass" span.hidden { " " (item.id) } }
                        }
                    }
                }
            }
        }
    }
}
