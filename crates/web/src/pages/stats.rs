//! Page *Stats*: plans and words per level and per top plan, and how they grew.

use std::sync::PoisonError;

use application::plan_stats::{NodeCounts, PlanStats, cached_stats};
use axum::extract::State;
use maud::{Markup, html};

use super::{NavigationEntry, link_by_title, render_page, render_status};
use crate::Dashboard;
use crate::frame::Page;
use crate::refusal::Refusal;

/// Number of days of the history.
const HISTORY_DAYS: usize = 30;

pub(crate) async fn stats_page(State(dashboard): State<Dashboard>) -> Result<Page, Refusal> {
    let words = dashboard.words.clone();
    let stats = dashboard
        .ask_tree(move |ctx, known| {
            // A panic while counting leaves counts that are true: each is of a version.
            let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
            cached_stats(ctx, known, HISTORY_DAYS, &mut words)
        })
        .await?;
    Ok(render_page(
        NavigationEntry::Elsewhere,
        "Stats",
        &render_content(&stats),
    ))
}

fn render_content(stats: &PlanStats) -> Markup {
    html! {
        h1 { "Stats" }
        section #levels {
            h2 { "Levels" }
            div.scroll tabindex="0" role="region" aria-label="Plans and words per level" { table.numbers {
                (render_head("Level"))
                tbody {
                    @for level in &stats.levels { tr { th scope="row" { (level.level) } (render_counts(&level.counts)) } }
                    tr { th scope="row" { "all" } (render_counts(&stats.total)) }
                }
            } }
        }
        section #plans {
            h2 { "Plans" }
            div.scroll tabindex="0" role="region" aria-label="Plans and words per plan" { table.numbers {
                (render_head("Plan"))
                tbody { @for node in &stats.nodes { tr {
                    th scope="row" { (link_by_title(&node.path, node.title.as_deref())) " " (render_status(node.status)) }
                    (render_counts(&node.counts))
                } } }
            } }
        }
        section #history {
            h2 { "Day by day" }
            div.scroll tabindex="0" role="region" aria-label="Totals day by day" { table.numbers {
                thead { tr {
                    th scope="col" { "Day" } th scope="col" { "Planned" } th scope="col" { "Approved" }
                    th scope="col" { "Complete" } th scope="col" { "Plan words" } th scope="col" { "Prose words" }
                } }
                tbody { @for day in &stats.history { tr {
                    th.day scope="row" { (day.day) }
                    td { (day.totals.planned) } td { (day.totals.approved) } td { (day.totals.complete) }
                    td { (day.totals.plan_words) } td { (day.totals.prose_words) }
                } } }
            } }
        }
    }
}

fn render_head(subject: &str) -> Markup {
    html! {
        thead { tr {
            th scope="col" { (subject) } th scope="col" { "Plans" } th scope="col" { "Approved" }
            th scope="col" { "Draft" } th scope="col" { "Stale" } th scope="col" { "Complete" }
            th scope="col" { "Plan words" } th scope="col" { "Prose words" } th scope="col" { "Target" }
        } }
    }
}

fn render_counts(counts: &NodeCounts) -> Markup {
    html! {
        td { (counts.plans) } td { (counts.approved) } td { (counts.draft) } td { (counts.stale) } td { (counts.complete) }
        td { (counts.plan_words) } td { (counts.prose_words) } td { @if let Some(target) = counts.target { (target) @if let Some(percent) = counts.target_percent { " (" (percent) " %)" } } }
    }
}
