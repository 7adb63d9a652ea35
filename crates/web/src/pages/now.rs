//! *Now*: what waits for a person, where the agents are, what was said.

use application::open_gates::OpenGate;
use application::show_now::NowView;
use axum::extract::State;
use domain::node::Status;
use maud::{Markup, html};

use super::{Place, shell, status, time, to_node, who, worded};
use crate::Dashboard;
use crate::api::now_view;
use crate::refusal::Refusal;

/// So much of a list is shown; the rest is in the tree.
const MOST_SHOWN: usize = 20;

pub(crate) async fn page(State(dashboard): State<Dashboard>) -> Result<Markup, Refusal> {
    let now = now_view(&dashboard).await?;
    Ok(shell(Place::Now, "Now", &content(&now)))
}

fn content(now: &NowView) -> Markup {
    html! {
        h1 { "Now" }
        section #counts data-live {
            h2.quiet { (now.status.nodes) " plans" }
            ul.counts {
                @for one in Status::ALL {
                    li { a href={ "/tree?status=" (one.as_str()) } {
                        span.number { (now.status.status_counts.get(one)) } (status(one))
                    } }
                }
            }
        }
        section #blocked data-live {
            @if !now.gates.is_empty() {
                h2 { "Blocked" }
                ul.cards { @for gate in now.gates.iter().take(MOST_SHOWN) { li.card { (blocked(gate)) } } }
            }
        }
        section #escalated data-live {
            @if !now.escalated.is_empty() {
                h2 { "Reviews that wait for you" }
                ul.cards { @for one in now.escalated.iter().take(MOST_SHOWN) {
                    li.card {
                        p { strong { (one.subject) } " " code { (one.item.id) } " " (one.item.check) }
                        @if let Some(finding) = &one.item.finding { p.note { (finding) } }
                        p { a href="/reviews" { "Decide" span.hidden { " about " (one.item.id) } } }
                    }
                } }
            }
        }
        section #waiting data-live {
            h2 { "Waits for a person" }
            @if now.status.attention.is_empty() { p.quiet { "Nothing waits: every plan that can be decided is." } }
            ul.cards {
                @for one in now.status.attention.iter().take(MOST_SHOWN) {
                    li.card {
                        (to_node(&one.path)) " " (status(one.status))
                        @if let Some(reason) = &one.reason { p { (worded(reason)) } }
                    }
                }
            }
            @if now.attention_total > MOST_SHOWN {
                p { a href="/tree" { "and " (now.attention_total - MOST_SHOWN) " more" } }
            }
        }
        section #comments data-live {
            @if !now.comments.is_empty() {
                h2 { "Said, and not answered yet" }
                ul.cards {
                    @for said in now.comments.iter().take(MOST_SHOWN) {
                        li.card { (to_node(&said.path)) p { (said.text) } p.quiet { (who(&said.by)) " · " (time(said.at)) } }
                    }
                }
            }
        }
        section #places data-live {
            h2 { "Where the agents are" }
            @if now.places.is_empty() && now.sessions.is_empty() { p.quiet { "No session has said where it is." } }
            ul.cards {
                @for place in &now.places {
                    li.card {
                        p.you-are-here { (to_node(&place.path)) }
                        p.quiet { "session " (place.session) }
                        @for claim in &place.claims { p.quiet { "holds " (claim.path) " until " (time(claim.until)) } }
                    }
                }
                @for session in now.sessions.iter().take(MOST_SHOWN) {
                    li.card {
                        @if let Some(trajectory) = &session.trajectory { p { (trajectory) } }
                        @if let Some(cursor) = &session.cursor { p.you-are-here { (cursor) } }
                        p.quiet { (session.host) " · " (session.name) " · " (time(session.updated)) }
                    }
                }
            }
        }
        section #signals data-live {
            @if !now.signals.is_empty() {
                h2 { "Noticed" }
                ul.cards { @for signal in now.signals.iter().take(MOST_SHOWN) {
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
                @for ready in now.ready.iter().take(MOST_SHOWN) {
                    li.card { (to_node(&ready.path)) @if let Some(title) = &ready.title { " " (title) } p.quiet { (ready.action) } }
                }
            }
        }
        section #latest data-live {
            @if let Some(last) = &now.status.last_operation {
                p.quiet { "Last: " (last.summary) " · " (who(&last.by)) " · " (time(last.at)) }
            }
        }
    }
}

/// A gate that is in a session's way, and what a person can do about it.
fn blocked(gate: &OpenGate) -> Markup {
    html! {
        p { span.tag { (gate.gate) } " stopped " (gate.host) " at " strong { (gate.plan.as_deref().unwrap_or("its work")) } }
        @match &gate.waits_for {
            Some(waits) => p { "It waits for " (to_node(&waits.path)) ", which is " (status(waits.status)) ". Open it to decide." },
            None => p.quiet { (gate.rule) },
        }
        p.quiet { "session " (gate.session) " · " (time(gate.at)) }
    }
}
