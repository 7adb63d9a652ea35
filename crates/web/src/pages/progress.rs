//! Page *Progress*: burn-up per level, words per day, how long plans take, and what the gates did.

use std::sync::PoisonError;

use application::show_progress::{LevelProgress, ProgressView, show_progress};
use axum::extract::{Query, State};
use domain::gates::find_gate_by_name;
use domain::level_progress::TimeSummary;
use domain::text::count_with_noun;
use domain::time::format_duration;
use maud::{Markup, html};
use serde::Deserialize;

use super::gates::render_counts;
use super::tree::{render_branch, render_chip};
use super::{NavigationEntry, render_message, render_page};
use crate::charts::{render_bars, render_burn_up};
use crate::frame::Page;
use crate::refusal::Refusal;
use crate::{Dashboard, GateReport};

/// Numbers of days to choose from.
const PERIODS: [usize; 3] = [14, 30, 90];

/// Query of the page.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Period {
    days: Option<usize>,
}

pub(crate) async fn progress_page(
    State(dashboard): State<Dashboard>,
    Query(period): Query<Period>,
) -> Result<Page, Refusal> {
    let days = period
        .days
        // Every day costs a read of its operations, so an address cannot ask for any number.
        .filter(|days| PERIODS.contains(days))
        .unwrap_or(30);
    let hooks = dashboard.hooks.clone();
    let cache = dashboard.progress.clone();
    let (progress, gates) = dashboard
        .ask_tree(move |ctx, known| {
            let progress = {
                // A panic while reading leaves values that are true: each is of a whole operation.
                let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
                show_progress(ctx, known, days, &mut cache)?
            };
            Ok((progress, hooks.report(ctx)?))
        })
        .await?;
    Ok(render_page(
        NavigationEntry::Progress,
        "Progress",
        &render_content(days, &progress, &gates),
    ))
}

fn render_content(days: usize, progress: &ProgressView, gates: &GateReport) -> Markup {
    let has_words = progress.words.iter().any(|words| *words != 0);
    html! {
        h1 { "Progress" }
        div.filters { nav.chips aria-label="Period" {
            @for period in PERIODS { (render_chip(&format!("{period} days"), &format!("/progress?days={period}"), period == days)) }
        } }
        section #levels data-live {
            @if progress.levels.is_empty() { p.quiet { "There is no plan yet. " a href="/" { "First steps" } } }
            @else {
                ul.legend aria-label="Lines" { li.planned { "planned" } li.approved { "approved" } li.complete { "complete" } }
                div.charts { @for level in &progress.levels { (render_level(level)) } }
            }
        }
        @if has_words {
            section #words data-live {
                h2 { "Words of prose per day" }
                (render_bars("Words of prose per day", &progress.days, &progress.words))
                details { summary { "The numbers" } (render_words(progress)) }
            }
        }
        section #times data-live {
            h2 { "How long it takes" }
            p.quiet { "Of the plans that got there in these " (days) " days, from the day each was first seen." }
            dl.facts {
                (render_times("Until the first approval", progress.to_approval))
                (render_times("Until completion", progress.to_completion))
            }
        }
        (render_gates(gates))
        p.quiet { a href="/stats" { "Words and targets per plan" } " · " a href="/gates" { "All gates, and latency of hooks" } }
    }
}

fn render_level(level: &LevelProgress) -> Markup {
    let count = |number: i64| usize::try_from(number).unwrap_or_default();
    html! {
        article.level {
            h2 { (level.level) " " (render_branch(count(level.now.complete), count(level.now.planned))) }
            p.quiet { (count_with_noun(count(level.now.planned), "plan", "plans")) ", " (level.now.approved) " approved, " (level.now.complete) " complete" }
            (render_burn_up(&level.level, &level.history))
            details {
                summary { "The numbers" span.hidden { " of " (level.level) } }
                div.scroll tabindex="0" role="region" aria-label={ "Days of " (level.level) } { table.numbers {
                    thead { tr { th scope="col" { "Day" } th scope="col" { "Planned" } th scope="col" { "Approved" } th scope="col" { "Complete" } } }
                    tbody { @for day in &level.history { tr {
                        th scope="row" { (day.day) } td { (day.totals.planned) } td { (day.totals.approved) } td { (day.totals.complete) }
                    } } }
                } }
            }
        }
    }
}

fn render_words(progress: &ProgressView) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Words per day" { table.numbers {
            thead { tr { th scope="col" { "Day" } th scope="col" { "Words" } } }
            tbody { @for (day, words) in progress.days.iter().zip(&progress.words) { tr { th scope="row" { (day) } td { (words) } } } }
        } }
    }
}

fn render_times(label: &str, times: Option<TimeSummary>) -> Markup {
    html! {
        div {
            dt { (label) }
            @match times {
                Some(times) => dd {
                    strong { (format_duration(times.median)) } " in the middle, nine of ten within " (format_duration(times.p90))
                    " (" (count_with_noun(times.count, "plan", "plans")) ")"
                },
                None => dd { "none in this time" },
            }
        }
    }
}

/// Renders what the gates stopped, with what each is for.
fn render_gates(report: &GateReport) -> Markup {
    let fired: Vec<_> = report
        .gates
        .iter()
        .filter(|(_, counts)| counts.fires + counts.overrides > 0)
        .collect();
    html! {
        section #gates data-live {
            h2 { "Gates" }
            @if fired.is_empty() { p.quiet { "No gate has stopped anything in " (count_with_noun(report.events, "event", "events")) " of agents." } }
            @else {
                div.scroll tabindex="0" role="region" aria-label="Gates" { table.numbers.gates {
                    thead { tr {
                        th scope="col" { "Gate" } th scope="col" { "Stopped" } th scope="col" { "Warned" }
                        th scope="col" { "Followed" } th scope="col" { "Overridden" }
                    } }
                    tbody { @for (name, counts) in fired { tr {
                        th scope="row" { (name) @if let Some(gate) = find_gate_by_name(name) { br; span.quiet { "stops " (render_message(gate.text)) } } }
                        (render_counts(*counts))
                    } } }
                } }
            }
        }
    }
}
