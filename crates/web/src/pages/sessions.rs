//! Page *Sessions*: the agents at work as cards, those that need a person first.

use application::show_sessions::{CardPlan, SessionCard, show_sessions};
use axum::extract::State;
use domain::session_activity::ActivityState;
use domain::text::count_with_noun;
use maud::{Markup, html};

use super::timeline::operation_url;
use super::{NavigationEntry, render_page, render_progress, render_status, render_time};
use crate::components::render_empty_state;
use crate::frame::Page;
use crate::refusal::Refusal;
use crate::titles::{LogTitles, PlanTitles};
use crate::{Dashboard, urls};

pub(crate) async fn sessions_page(State(dashboard): State<Dashboard>) -> Result<Page, Refusal> {
    let hooks = dashboard.hooks.clone();
    let cards = dashboard
        .ask_tree(move |ctx, known| show_sessions(ctx, known, &hooks.blocked()))
        .await?;
    let held = cards.iter().flat_map(|card| &card.holds);
    let titles = dashboard
        .load_titles(held.map(|held| held.path.clone()).collect::<Vec<_>>())
        .await;
    let last = cards.iter().filter_map(|card| card.last_operation.as_ref());
    let log = dashboard.load_log_titles(last).await;
    Ok(render_page(
        NavigationEntry::Sessions,
        "Sessions",
        &render_content(&cards, &titles, &log),
    ))
}

fn render_content(cards: &[SessionCard], titles: &PlanTitles, log: &LogTitles) -> Markup {
    // Apart, because the page is opened to see who is at work and who needs a person.
    let (gone, present): (Vec<&SessionCard>, Vec<&SessionCard>) = cards
        .iter()
        .partition(|card| card.state == ActivityState::Gone);
    html! {
        h1 { "Sessions" }
        section #sessions data-live data-poll {
            @if present.is_empty() {
                (render_empty_state("No session is at work", &html! {
                    "An agent whose host runs Throughline's hooks appears here with its first step: " code { "tl host install" }
                }, &html! {}))
            }
            ul.session-cards { @for card in &present { li { (render_card(card, titles, log)) } } }
            @if !gone.is_empty() {
                details {
                    summary { (count_with_noun(gone.len(), "earlier session", "earlier sessions")) }
                    ul.session-cards { @for card in &gone { li { (render_card(card, titles, log)) } } }
                }
            }
        }
    }
}

fn render_card(card: &SessionCard, titles: &PlanTitles, log: &LogTitles) -> Markup {
    html! {
        article.card.session data-state=(card.state.as_str()) {
            h2 {
                span.activity data-state=(card.state.as_str()) { span.shape aria-hidden="true" { (card.state.symbol()) } (card.state.label()) }
                @if let Some(since) = card.since { span.quiet { "began " (render_time(since)) } }
            }
            p.quiet {
                @if let Some(host) = &card.host { (host) " · " }
                "session " code { (card.session) }
                @if let Some(branch) = &card.branch { " · " span title="branch" { "⎇ " (branch) } }
                @if let Some(worktree) = &card.worktree { " · " code { (worktree) } }
            }
            @if let Some(plan) = &card.plan { p.you-are-here { (render_plan(plan)) } }
            @if let Some(aim) = &card.aim { p { (aim) } }
            @if let Some(action) = &card.action { @if card.aim.as_deref() != Some(action) { p.you-are-here { (action) } } }
            (render_obstacle(card))
            @for signal in &card.signals { p { span.tag { (signal.kind) } " " (signal.text) } }
            @for held in &card.holds { p.quiet { "holds " (titles.link_to(&held.path)) ", ends " (render_time(held.until)) } }
            @if !card.files.is_empty() {
                details {
                    summary { (count_with_noun(card.files.len(), "changed file", "changed files")) span.hidden { " of session " (card.session) } }
                    ul { @for file in &card.files { li { code { (file) } } } }
                }
            }
            @if let Some(last) = &card.last_operation {
                p.quiet { "Last: " a href=(operation_url(last.operation)) { (log.render_summary(last)) } " · " (render_time(last.at)) }
            }
        }
    }
}

/// Renders what a session waits for or is stopped by, with the link that helps it.
fn render_obstacle(card: &SessionCard) -> Markup {
    html! {
        @match (&card.waits_for, &card.blocked_by) {
            (Some(plan), _) if card.state == ActivityState::Waiting => p.obstacle {
                "Decide about " a href=(urls::node_url(&plan.path)) dir="auto" { (plan.name) } " " (render_status(plan.status))
            },
            (_, Some(gate)) => p.obstacle {
                span.tag { (gate.gate) } " stopped it"
                @if let Some(plan) = &gate.plan { " at " code { (plan) } }
                ". " span.quiet { (gate.rule) }
            },
            _ => {},
        }
    }
}

fn render_plan(plan: &CardPlan) -> Markup {
    html! {
        a href=(urls::node_url(&plan.path)) dir="auto" { (plan.name) } " " code.id { (plan.path) } " "
        (render_status(plan.status)) " " (render_progress(plan.progress))
    }
}
