//! Page of one operation: what it changed, plan by plan, with the differences of texts.

use application::describe_operation::{ChangedPlan, OperationDetail, describe_operation};
use axum::extract::{Path, State};
use domain::ids::OperationId;
use domain::operation_changes::{ChangedRecord, NodeChange, RecordChange};
use domain::text::count_with_noun;
use maud::{Markup, html};

use super::timeline::{describe_principal, link_changed_plan, operation_url};
use super::{NavigationEntry, diff, render_page, render_progress, render_status, render_time};
use crate::Dashboard;
use crate::frame::{Page, Rights};
use crate::refusal::Refusal;
use crate::titles::LogTitles;

pub(crate) async fn operation_page(
    State(dashboard): State<Dashboard>,
    rights: Rights,
    Path(number): Path<u64>,
) -> Result<Page, Refusal> {
    let detail = dashboard
        // With the cached tree, which names the plans without reading each.
        .ask_tree(move |ctx, known| describe_operation(ctx, known, OperationId(number)))
        .await?;
    let titles = dashboard.load_log_titles([&detail.operation]).await;
    Ok(render_page(
        NavigationEntry::Timeline,
        &format!("Operation {number}"),
        &render_content(&rights, &detail, &titles),
    ))
}

fn render_content(rights: &Rights, detail: &OperationDetail, titles: &LogTitles) -> Markup {
    let OperationDetail {
        operation,
        is_newest,
        plans,
        more,
        records,
        ..
    } = detail;
    html! {
        nav.lineage aria-label="Above" { ol { li { a href="/timeline" { "Timeline" } } li { span.id aria-current="page" { "operation " (operation.operation) } } } }
        h1 { (titles.render_summary(operation)) }
        p { span.tag { (operation.verb.as_str()) } " " (describe_principal(&operation.by)) " · " (render_time(operation.at)) }
        (render_undo(rights, detail))
        section #changes {
            h2 { "What it changed" }
            @if plans.is_empty() && records.is_empty() { p.quiet { "No plan and no record." } }
            @for plan in plans { (render_plan(plan)) }
            @if *more > 0 { p.quiet { "and " (count_with_noun(*more, "more plan", "more plans")) } }
            (render_records(records, |change| change))
        }
        nav.pages aria-label="Neighbours" {
            @if operation.operation.0 > 1 { a rel="prev" href=(operation_url(OperationId(operation.operation.0 - 1))) { "Operation before" } }
            @if !is_newest { a rel="next" href=(operation_url(operation.operation.next_id())) { "Operation after" } }
        }
    }
}

/// Maximum number of records that are listed one by one.
const MAX_LISTED_RECORDS: usize = 12;

/// Renders changed records, each change as `shown` turns it.
pub(super) fn render_records(
    records: &[ChangedRecord],
    shown: impl Fn(RecordChange) -> RecordChange,
) -> Markup {
    // A decision file is called by a digest, and what it decides is with its plan.
    let (decisions, records): (Vec<&ChangedRecord>, Vec<&ChangedRecord>) =
        records.iter().partition(|record| record.kind == "decision");
    html! {
        @if !decisions.is_empty() { p.quiet { (count_with_noun(decisions.len(), "decision file", "decision files")) } }
        @if !records.is_empty() { ul.rows.records {
            @for record in records.iter().take(MAX_LISTED_RECORDS) { li {
                span { span.tag { (record.kind) } @if let Some(name) = &record.name { " " span dir="auto" { (name) } } }
                span.end.quiet { (shown(record.change).as_str()) }
            } }
            @if records.len() > MAX_LISTED_RECORDS {
                li.quiet { "and " (count_with_noun(records.len() - MAX_LISTED_RECORDS, "more record", "more records")) }
            }
        } }
    }
}

fn render_undo(rights: &Rights, detail: &OperationDetail) -> Markup {
    let operation = &detail.operation;
    html! {
        @match operation.undone_by {
            Some(by) => p.notice { "It was undone by " a href=(operation_url(by)) { "operation " (by) } "." },
            None if detail.can_be_undone && rights.allow("undo") => {
                p { a.button href={ "/undo/" (operation.operation) } { "Undo this operation" } }
            },
            None => {},
        }
    }
}

pub(super) fn render_plan(plan: &ChangedPlan) -> Markup {
    html! {
        article.changed {
            h3 { (link_changed_plan(plan)) @if let Some(path) = &plan.path { " " code.id { (path) } } }
            ul.changes { @for change in &plan.changes { li { (render_change(change)) } } }
            @if let Some(difference) = &plan.diff { (diff::render_diff(difference)) }
        }
    }
}

fn render_change(change: &NodeChange) -> Markup {
    html! {
        @match change {
            NodeChange::Added => "added",
            NodeChange::Removed => "removed",
            NodeChange::Moved => "moved below another plan",
            NodeChange::Renamed { was } => { "was called " code { (was) } },
            NodeChange::Text { before: None, .. } => "has a text now",
            NodeChange::Text { after: None, .. } => "its text is gone",
            NodeChange::Text { .. } => "text changed",
            NodeChange::Description => "title or work keys changed",
            NodeChange::Approved => "approved",
            NodeChange::ApprovalWithdrawn => "no longer approved",
            NodeChange::Objected => "changes requested, or rejected",
            NodeChange::ObjectionWithdrawn => "objection withdrawn",
            NodeChange::Progress { before, after } => {
                // `render_progress` shows nothing for pending, but here that is what changed.
                "progress " (before) " → " @if *after == domain::node::Progress::Pending { "pending" } @else { (render_progress(*after)) }
            },
            NodeChange::Status { before, after } => { (render_status(*before)) " → " (render_status(*after)) },
            NodeChange::Backup { path } => { "backup " code { (path) } },
        }
    }
}
