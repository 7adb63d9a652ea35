//! Page *Now*: the project at a glance: counts, the agents' positions, open comments, ready work.

use application::live_sessions::LiveSessionView;
use application::show_now::NowView;
use application::working_copy::{CopyDifference, describe_next_step};
use axum::extract::State;
use domain::node::Status;
use domain::text::count_with_noun;
use maud::{Markup, html};

use super::{
    NavigationEntry, link_by_title, link_to_node, render_page, render_principal, render_status,
    render_time,
};
use crate::Dashboard;
use crate::api::now_view;
use crate::frame::Page;
use crate::markdown;
use crate::refusal::Refusal;
use crate::titles::PlanTitles;

/// Maximum length of a list; the rest is in the tree.
const MAX_LIST_LENGTH: usize = 20;

pub(crate) async fn now_page(State(dashboard): State<Dashboard>) -> Result<Page, Refusal> {
    // One use case for page and API: both show the same at the same moment.
    let now = now_view(&dashboard).await?;
    let commented = now.comments.iter().map(|said| said.path.clone());
    let places = now.places.iter().map(|place| place.path.clone());
    let titles = dashboard
        .load_titles(commented.chain(places).collect::<Vec<_>>())
        .await;
    Ok(render_page(
        NavigationEntry::Elsewhere,
        "Now",
        &render_content(&now, &titles),
    ))
}

fn render_content(now: &NowView, titles: &PlanTitles) -> Markup {
    html! {
        h1 { "Now" }
        section #counts data-live {
            h2.quiet { (now.status.nodes) @if now.status.nodes == 1 { " plan" } @else { " plans" } }
            ul.counts {
                @for one in Status::ALL {
                    li { a href={ "/tree?status=" (one.as_str()) } {
                        span.number { (now.status.status_counts.get(one)) } (render_status(one))
                    } }
                }
            }
        }
        section #copy data-live { (render_copy_differences(&now.status.copy_differences)) }
        section #comments data-live {
            @if !now.comments.is_empty() {
                h2 { "Open comments" }
                ul.cards {
                    @for said in now.comments.iter().take(MAX_LIST_LENGTH) {
                        li.card { (titles.link_to(&said.path)) div.prose dir="auto" { (markdown::render_markdown(&said.text)) } p.quiet { (render_principal(&said.by)) " · " (render_time(said.at)) } }
                    }
                }
            }
        }
        section #places data-live {
            h2 { "Where the agents are" }
            @if now.places.is_empty() && now.sessions.is_empty() && now.status.other_sessions.is_empty() { p.quiet { "No session has a position." } }
            ul.cards {
                @for place in &now.places {
                    li.card {
                        p.you-are-here { (titles.link_to(&place.path)) }
                        p.quiet { "session " (place.session) }
                        @for claim in &place.claims { p.quiet { "holds " (titles.link_to(&claim.path)) ", ends " (render_time(claim.until)) } }
                    }
                }
                @for other in list_unplaced_sessions(now).take(MAX_LIST_LENGTH) {
                    li.card { (render_other_session(other)) }
                }
                @for session in now.sessions.iter().take(MAX_LIST_LENGTH) {
                    li.card {
                        @if let Some(trajectory) = &session.trajectory { p { (trajectory) } }
                        @if let Some(cursor) = &session.cursor { p.you-are-here { (cursor) } }
                        p.quiet { (session.host) " · " (session.name) " · " (render_time(session.updated)) }
                    }
                }
            }
        }
        section #signals data-live {
            @if !now.signals.is_empty() {
                h2 { "Noticed" }
                ul.cards { @for signal in now.signals.iter().take(MAX_LIST_LENGTH) {
                    li.card {
                        p { span.tag { (signal.kind) } " " (signal.text) }
                        p.quiet { (signal.host) " · " (signal.session) " · " (signal.next_step) }
                    }
                } }
            }
        }
        section #ready data-live {
            h2 { "Ready to be worked on" }
            @if now.ready.is_empty() { p.quiet { "Nothing is ready." } }
            ul.cards {
                @for ready in now.ready.iter().take(MAX_LIST_LENGTH) {
                    li.card { (link_by_title(&ready.path, ready.title.as_deref())) p.quiet { code { (ready.action) } } }
                }
            }
            @if now.ready_total > MAX_LIST_LENGTH {
                p.quiet { "and " (now.ready_total - MAX_LIST_LENGTH) " more, on the " a href="/board" { "board" } }
            }
        }
        section #latest data-live {
            @if let Some(last) = &now.status.last_operation {
                p.quiet { "Last: " (last.summary) " · " (render_principal(&last.by)) " · " (render_time(last.at)) }
            }
        }
    }
}

/// Renders how the working copy of this server differs from the state that others share: the page
/// shows the shared texts, and these plans have others here.
fn render_copy_differences(differences: &[CopyDifference]) -> Markup {
    html! {
        @if !differences.is_empty() {
            details {
                summary {
                    "Your copy differs in " (count_with_noun(differences.len(), "plan", "plans")) ": "
                    code { (describe_next_step(differences)) }
                }
                ul { @for one in differences.iter().take(MAX_LIST_LENGTH) {
                    li { span.tag { (one.kind.as_str()) } " " (one.node) }
                } }
                @if differences.len() > MAX_LIST_LENGTH {
                    p.quiet { "and " (differences.len() - MAX_LIST_LENGTH) " more: " code { "tl submit --dry-run" } }
                }
            }
        }
    }
}

/// Returns the live sessions that are not listed with a position in this worktree.
fn list_unplaced_sessions(now: &NowView) -> impl Iterator<Item = &LiveSessionView> {
    now.status.other_sessions.iter().filter(|other| {
        // A session of another worktree has no position here, even if its name occurs.
        other.worktree.is_some()
            || now
                .places
                .iter()
                .all(|place| place.session != other.session)
    })
}

/// Renders a live session: its worktree and branch, its position, and what it holds.
fn render_other_session(other: &LiveSessionView) -> Markup {
    html! {
        @if let Some(focus) = &other.focus { p.you-are-here { (link_to_node(focus)) } }
        p.quiet {
            "session " (other.session)
            @if let Some(worktree) = &other.worktree { " in " (worktree) }
            @if let Some(branch) = &other.branch { " on " (branch) }
            " · " (render_time(other.last_heard))
        }
        @for path in &other.holds { p.quiet { "holds " (path) } }
    }
}
