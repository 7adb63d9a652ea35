//! Page *Timeline*: operations, newest first, by day and by who made them, each with the plans it
//! changed, a page of its own and an undo button.

use std::collections::HashMap;

use application::describe_operation::{ChangedPlan, OperationPlans, name_changed_plans};
use application::views::OperationView;
use axum::extract::{Query, State};
use domain::ids::{OperationId, Principal};
use domain::operation::Verb;
use domain::text::count_with_noun;
use maud::{Markup, html};

use super::{NavigationEntry, render_page, render_time};
use crate::api::{Stretch, Timeline, stretch};
use crate::frame::{Page, Rights};
use crate::refusal::Refusal;
use crate::titles::LogTitles;
use crate::{Dashboard, urls};

pub(crate) async fn timeline_page(
    State(dashboard): State<Dashboard>,
    rights: Rights,
    Query(asked): Query<Stretch>,
) -> Result<Page, Refusal> {
    // The page repeats the filter in its form and in the link to the next page.
    let wanted = asked.clone();
    let (timeline, plans) = dashboard
        .ask_tree(move |ctx, known| {
            let timeline = stretch(ctx, &wanted)?;
            // In one use case: two would take two slots and could scan the files twice.
            let plans = name_changed_plans(ctx, known, &timeline.operations)?;
            Ok((timeline, plans))
        })
        .await?;
    let titles = LogTitles::from_plans(&plans);
    let page = TimelinePage {
        rights: &rights,
        titles: &titles,
        asked: &asked,
        timeline: &timeline,
        plans: &plans,
    };
    Ok(render_page(
        NavigationEntry::Timeline,
        "Timeline",
        &page.render(),
    ))
}

struct TimelinePage<'p> {
    rights: &'p Rights,
    titles: &'p LogTitles,
    asked: &'p Stretch,
    timeline: &'p Timeline,
    plans: &'p HashMap<OperationId, OperationPlans>,
}

impl TimelinePage<'_> {
    fn render(&self) -> Markup {
        let Self {
            asked, timeline, ..
        } = self;
        html! {
            h1 { "Timeline" }
            form.filter action="/timeline" method="get" role="search" {
                label { "Plan" input type="search" name="node" value=(asked.node) autocomplete="off"; }
                label { "What" select name="verb" {
                    option value="" { "anything" }
                    @for verb in Verb::ALL { option value=(verb.as_str()) selected[verb.as_str() == asked.verb] { (verb.as_str()) } }
                } }
                label { "Who" input type="search" name="by" value=(asked.by) autocomplete="off"; }
                button type="submit" { "Filter" }
            }
            section #operations data-live {
                @if timeline.operations.is_empty() { p.quiet { "No operations match." } }
                @for day in group_by(&timeline.operations, |one| one.at.format_local_day()) {
                    @if let Some(first) = day.first() {
                        h2.day { (first.at.format_local_day()) }
                        @for group in group_by(day, |one| one.by.to_string()) { (self.render_group(group)) }
                    }
                }
                @if let Some(next) = timeline.next { (self.render_older(next)) }
            }
        }
    }

    /// Renders operations of one session or person that follow each other.
    fn render_group(&self, group: &[OperationView]) -> Markup {
        let Some(first) = group.first() else {
            return html! {};
        };
        let by = first.by.to_string();
        let only_these = urls::with_query("/timeline", &[("by", &by)]);
        html! {
            section.by {
                h3 {
                    span.who { (describe_principal(&first.by)) }
                    " " a.quiet href=(only_these) { (count_with_noun(group.len(), "operation", "operations")) span.hidden { " by " (by) } }
                }
                ol.operations { @for operation in group { (self.render_operation(operation)) } }
            }
        }
    }

    fn render_operation(&self, operation: &OperationView) -> Markup {
        let address = operation_url(operation.operation);
        let plans = self.plans.get(&operation.operation);
        html! {
            li.operation data-undone=[operation.undone_by.map(|_| "")] {
                a.when href=(address) title={ "operation " (operation.operation) } { (render_time(operation.at)) }
                div.what {
                    p { span.tag { (operation.verb.as_str()) } " " a href=(address) { (self.titles.render_summary(operation)) } }
                    @match plans {
                        Some(plans) if plans.total > 0 => p.quiet { (render_plans(plans)) " " (link_details(operation, plans.total)) },
                        // Operations with many facts are not read for a list; their own page names
                        // the plans.
                        None => p.quiet { (link_details(operation, operation.facts)) },
                        Some(_) => {},
                    }
                    @if let Some(by) = operation.undone_by { p.quiet { "undone by " a href=(operation_url(by)) { "operation " (by) } } }
                }
                // Operations with many facts are not read for a list; their own page says more.
                @if plans.is_some_and(|plans| plans.can_be_undone) && self.rights.allow("undo") {
                    a.button.small href={ "/undo/" (operation.operation) } { "Undo" span.hidden { " operation " (operation.operation) } }
                }
            }
        }
    }

    fn render_older(&self, next: u64) -> Markup {
        let Stretch { node, verb, by, .. } = self.asked;
        let before = next.to_string();
        let address = urls::with_query(
            "/timeline",
            &[
                ("before", &before),
                ("node", node),
                ("verb", verb),
                ("by", by),
            ],
        );
        html! {
            nav.pages aria-label="Parts of the log" { a rel="next" href=(address) { "Older" } }
        }
    }
}

/// Returns the address of an operation's page.
pub(crate) fn operation_url(id: OperationId) -> String {
    format!("/operations/{id}")
}

/// Splits a list where the value of `key` changes.
fn group_by<K: PartialEq>(
    operations: &[OperationView],
    key: impl Fn(&OperationView) -> K,
) -> impl Iterator<Item = &[OperationView]> {
    operations.chunk_by(move |one, other| key(one) == key(other))
}

/// Names a principal as people say it.
pub(crate) fn describe_principal(by: &Principal) -> String {
    match by {
        Principal::Human(name) => name.clone(),
        Principal::Agent { host, session } => format!("{host} · session {session}"),
        Principal::System => "file changes".to_owned(),
    }
}

fn link_details(operation: &OperationView, count: usize) -> Markup {
    html! {
        a href=(operation_url(operation.operation)) { (count_with_noun(count, "change", "changes")) span.hidden { " of operation " (operation.operation) } }
    }
}

fn render_plans(plans: &OperationPlans) -> Markup {
    let hidden = plans.total - plans.named.len();
    html! {
        @for (index, plan) in plans.named.iter().enumerate() {
            @if index > 0 { ", " }
            (link_changed_plan(plan))
            @if let Some(id) = short_id(plan) { " " code.id { (id) } }
        }
        @if hidden > 0 { " and " (hidden) " more" }
        " ·"
    }
}

/// Returns the id of a plan, where it is not its name.
fn short_id(plan: &ChangedPlan) -> Option<&str> {
    let id = plan.path.as_deref()?.rsplit('/').next()?;
    (id != plan.name).then_some(id)
}

/// Renders a changed plan by its name; one that is gone has no page.
pub(crate) fn link_changed_plan(plan: &ChangedPlan) -> Markup {
    html! {
        @match &plan.path {
            Some(path) => a href=(urls::node_url(path)) title=(path) dir="auto" { (plan.name) },
            None => span dir="auto" { (plan.name) },
        }
    }
}
