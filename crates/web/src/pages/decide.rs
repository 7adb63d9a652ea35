//! Page *Decide*: every plan of a subtree that waits for a person, with one answer for all of them.
//!
//! The form carries the versions of exactly the plans on the page, so that a text that is not on it
//! cannot be approved with it.

use application::approval_question::ApprovalQuestion;
use application::plan_batch::{
    BatchPurpose, BatchQuestion, PlanSelection, WaitingPlans, build_batch_question,
};
use axum::extract::{Path, Query, State};
use domain::text::count_with_noun;
use maud::{Markup, html};
use serde::Deserialize;

use super::{
    NavigationEntry, diff, link_to_node, render_message, render_notice, render_page,
    render_principal, render_status,
};
use crate::Dashboard;
use crate::frame::Page;
use crate::refusal::Refusal;

/// Maximum number of plans on a page. Those above come before those below, so the first ones can be
/// decided without the rest.
const MAX_PLANS_ON_PAGE: usize = 100;

#[derive(Deserialize)]
pub(crate) struct AfterForm {
    done: Option<String>,
}

/// Everything that waits.
pub(crate) async fn decide_everything_page(
    dashboard: State<Dashboard>,
    after: Query<AfterForm>,
) -> Result<Page, Refusal> {
    decide_page(dashboard, Path(String::new()), after).await
}

/// What waits in a subtree.
pub(crate) async fn decide_page(
    State(dashboard): State<Dashboard>,
    Path(top): Path<String>,
    Query(after): Query<AfterForm>,
) -> Result<Page, Refusal> {
    let selection = PlanSelection::Below {
        node: match top.as_str() {
            "" => Vec::new(),
            path => vec![path.to_owned()],
        },
        waiting: WaitingPlans::All,
    };
    let mut question = dashboard
        .ask(move |ctx| build_batch_question(ctx, &selection, BatchPurpose::Approve))
        .await?;
    let waiting = question.questions.len();
    question.questions.truncate(MAX_PLANS_ON_PAGE);
    Ok(render_page(
        NavigationEntry::Elsewhere,
        "Decide",
        &html! {
            h1 { "Decide" @if !top.is_empty() { " about " (top) } }
            (render_notice(after.done.as_deref()))
            (render_content(&question, &top, waiting))
        },
    ))
}

fn render_content(question: &BatchQuestion, top: &str, waiting: usize) -> Markup {
    let shown = question.questions.len();
    // The same fields in both forms: a decision is about exactly the texts on this page.
    let bound = html! {
        input type="hidden" name="top" value=(top);
        input type="hidden" name="shown" value=(list_versions(question));
    };
    let has_warnings = question
        .questions
        .iter()
        .any(|one| !one.warnings.is_empty());
    html! {
        @if shown == 0 { p.quiet { "Nothing waits for a decision." } }
        @if shown < waiting {
            p.notice { "The first " (shown) " of " (waiting) " plans. The others follow when these are decided." }
        }
        @for one in &question.questions { (render_plan(one)) }
        @if !question.left_out.is_empty() {
            section #left-out {
                h2 { "Left out" }
                ul { @for one in &question.left_out { li { (link_to_node(&one.path)) " " (render_message(&one.reason)) } } }
            }
        }
        @if shown > 0 {
            section.decide #decide aria-label="Decide" {
                form action="/do/approve-plans" method="post" {
                    (bound)
                    @if has_warnings {
                        label.check { input type="checkbox" name="force" value="yes"; "I have read the warnings above" }
                    }
                    button.primary type="submit" { "Approve " (count_with_noun(shown, "plan", "plans")) " as shown" }
                }
                details {
                    summary { "Request changes of all of them" }
                    form action="/do/request-changes-of-plans" method="post" {
                        (bound)
                        label for="what-to-change" { "What has to change; the agent gets these words" }
                        textarea #what-to-change name="text" rows="3" required maxlength="10000" {}
                        button type="submit" { "Request changes" }
                    }
                }
            }
        }
    }
}

/// Renders everything the question about one plan shows.
fn render_plan(question: &ApprovalQuestion) -> Markup {
    html! {
        section.card {
            h2 { (link_to_node(&question.path)) " " (render_status(question.status)) }
            @if let Some(title) = &question.title { p { (title) } }
            @for warning in &question.warnings { p.note { "Warning: " (render_message(warning)) } }
            @if let Some(requested) = &question.changes_requested {
                p.note dir="auto" { "Changes requested by " (render_principal(&requested.by)) ": " (requested.text) }
            }
            @match &question.change {
                Some(change) => { p.quiet { "Changed since it was approved" } (diff::render_diff(change)) },
                None => {
                    p.quiet { "It was never approved. The whole text:" }
                    pre dir="auto" { (question.text.as_deref().unwrap_or_default()) }
                },
            }
            @if let (Some(parent), Some(change)) = (&question.parent_path, &question.parent_changes) {
                p.quiet { "Changed in its parent " (parent) }
                (diff::render_diff(change))
            }
        }
    }
}

/// Lists the plans on the page for the form: path, version and the parent's version or `-`.
fn list_versions(question: &BatchQuestion) -> String {
    let plans = question.questions.iter().map(|one| {
        let parent = one.parent_version_hash.map(|hash| hash.to_string());
        format!(
            "{} {} {}",
            one.path,
            one.version_hash,
            parent.as_deref().unwrap_or("-")
        )
    });
    plans.collect::<Vec<_>>().join(" ")
}
