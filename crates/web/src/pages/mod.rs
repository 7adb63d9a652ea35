//! The pages: one file each. What they share is here: the frame, and how statuses, times and actors are shown.

pub(crate) mod diff;
pub(crate) mod gates;
pub(crate) mod memory;
pub(crate) mod node;
pub(crate) mod now;
pub(crate) mod prose;
pub(crate) mod reviews;
pub(crate) mod ticks;
pub(crate) mod timeline;
pub(crate) mod tree;

use application::{Failure, FailureKind};
use domain::ids::Principal;
use domain::node::{Progress, Status};
use domain::time::Timestamp;
use maud::{DOCTYPE, Markup, html};

use crate::refusal::Refusal;
use crate::{assets, urls};

/// Which page it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Now,
    Tree,
    Timeline,
    Reviews,
    Ticks,
    Gates,
    Memory,
    Elsewhere,
}

const PLACES: &[(Place, &str, &str)] = &[
    (Place::Now, "/", "Now"),
    (Place::Tree, "/tree", "Tree"),
    (Place::Timeline, "/timeline", "Timeline"),
    (Place::Reviews, "/reviews", "Reviews"),
    (Place::Ticks, "/ticks", "Ticks"),
    (Place::Gates, "/gates", "Gates"),
    (Place::Memory, "/memory", "Memory"),
];

/// Returns a whole page around its content.
pub(crate) fn shell(place: Place, title: &str, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Throughline" }
                link rel="icon" href="/assets/icon.svg" type="image/svg+xml";
                @for style in assets::styles() { link rel="stylesheet" href={ "/assets/" (style) }; }
                script type="module" src="/assets/app.js" {}
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                header.top {
                    a.brand href="/" { "Throughline" }
                    nav aria-label="Pages" {
                        @for (other, address, name) in PLACES {
                            a href=(address) aria-current=[(*other == place).then_some("page")] { (name) }
                        }
                    }
                    tl-live role="status" {}
                }
                main id="main" tabindex="-1" { (content) }
            }
        }
    }
}

pub(crate) async fn nowhere() -> Refusal {
    Failure::new(FailureKind::NotFound, "there is no such page").into()
}

/// Returns a status as shape, word and colour.
pub(crate) fn status(status: Status) -> Markup {
    let (shape, word) = match status {
        Status::Draft => ("○", "draft"),
        Status::Approved => ("✓", "approved"),
        Status::RequiresRevalidation => ("△", "stale"),
        Status::Invalid => ("✕", "invalid"),
    };
    html! { span.status data-status=(status.as_str()) { span.shape aria-hidden="true" { (shape) } (word) } }
}

/// Returns how far the work is; nothing while it has not begun.
pub(crate) fn progress(progress: Progress) -> Markup {
    html! { @if progress != Progress::Pending { span.tag { (progress) } } }
}

/// Returns a moment: in local time for people, exactly for programs.
pub(crate) fn time(at: Timestamp) -> Markup {
    html! { time datetime=(at) { (at.format_local_minute()) } }
}

/// Returns a sentence of ours, in which names stand between backticks.
pub(crate) fn worded(text: &str) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// Returns who acted.
pub(crate) fn who(by: &Principal) -> Markup {
    html! { span.who { (by) } }
}

/// Returns a link to a node.
pub(crate) fn to_node(path: &str) -> Markup {
    html! { a.path href=(urls::node(path)) { (path) } }
}

/// Returns what a decision led to. The words are ours: an address cannot put others on the page.
pub(crate) fn done(word: Option<&str>) -> Markup {
    let text = match word {
        Some("approved") => "Approved. Whoever waited for it goes on.",
        Some("kept") => "Kept as it is, against the parent as it is now.",
        Some("condemned") => "Condemned. Everything below it is marked too.",
        Some("commented") => "Said. The agent reads it when it waits, or with its next briefing.",
        Some("restored") => "Restored. The text before it is kept as a version.",
        Some("accepted") => "Accepted as it is, with your reason.",
        Some("passed") => "Passed: what was found is no longer so.",
        Some("sent-back") => "Sent back to the author, with your words.",
        Some("concluded") => "The iteration is over; below is what it came to.",
        Some("retried") => "Run again, to its end.",
        Some("failed-again") => "Run again, and failed again: the tick says why.",
        Some("skipped") => "Put aside. The loop goes on without it.",
        Some("undone") => "Undone. The log keeps both.",
        _ => return html! {},
    };
    html! { p.notice role="status" { (text) } }
}
