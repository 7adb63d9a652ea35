//! The pages, one file each; here the shared fragments: status, time, principal, links.

pub(crate) mod decide;
pub(crate) mod diff;
pub(crate) mod gates;
pub(crate) mod memory;
pub(crate) mod node;
pub(crate) mod now;
pub(crate) mod outline;
pub(crate) mod prose;
pub(crate) mod reviews;
pub(crate) mod search;
pub(crate) mod stats;
pub(crate) mod ticks;
pub(crate) mod timeline;
pub(crate) mod tree;

use application::Failure;
use domain::ids::Principal;
use domain::node::{Progress, Status};
use domain::time::Timestamp;
use maud::{Markup, html};

use crate::frame::Page;
use crate::refusal::Refusal;
use crate::urls;

/// The page in the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NavigationEntry {
    Now,
    Tree,
    Timeline,
    Reviews,
    Ticks,
    Gates,
    Memory,
    Search,
    Elsewhere,
}

pub(crate) const NAVIGATION: &[(NavigationEntry, &str, &str)] = &[
    (NavigationEntry::Now, "/", "Now"),
    (NavigationEntry::Tree, "/tree", "Tree"),
    (NavigationEntry::Timeline, "/timeline", "Timeline"),
    (NavigationEntry::Reviews, "/reviews", "Reviews"),
    (NavigationEntry::Ticks, "/ticks", "Ticks"),
    (NavigationEntry::Gates, "/gates", "Gates"),
    (NavigationEntry::Memory, "/memory", "Memory"),
    (NavigationEntry::Search, "/search", "Search"),
];

/// Returns a page; its frame is rendered around it afterwards.
pub(crate) fn render_page(place: NavigationEntry, title: &str, content: &Markup) -> Page {
    Page {
        place,
        title: title.to_owned(),
        content: content.clone(),
    }
}

pub(crate) async fn page_not_found() -> Refusal {
    Failure::not_found("there is no such page").into()
}

/// Renders a status as symbol, word and colour: colour alone would exclude some readers.
pub(crate) fn render_status(status: Status) -> Markup {
    html! {
        span.status data-status=(status.as_str()) {
            span.shape aria-hidden="true" { (status.symbol()) }
            (status.label())
        }
    }
}

/// Renders the progress; nothing while it is pending.
pub(crate) fn render_progress(progress: Progress) -> Markup {
    html! { @if progress != Progress::Pending { span.tag { (progress) } } }
}

/// Renders a time: local for people, exact in the attribute for scripts.
pub(crate) fn render_time(at: Timestamp) -> Markup {
    html! { time datetime=(at) { (at.format_local_minute()) } }
}

/// Renders a message with names in backticks as code.
pub(crate) fn render_message(text: &str) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// Renders a principal.
pub(crate) fn render_principal(by: &Principal) -> Markup {
    html! { span.who { (by) } }
}

/// Renders a link to a node.
pub(crate) fn link_to_node(path: &str) -> Markup {
    html! { a.path href=(urls::node_url(path)) { (path) } }
}

/// Renders a link to a node by its title, with its path small behind it.
pub(crate) fn link_by_title(path: &str, title: Option<&str>) -> Markup {
    html! {
        @match title {
            Some(title) => { a href=(urls::node_url(path)) dir="auto" { (title) } " " code.id { (path) } },
            None => (link_to_node(path)),
        }
    }
}

/// Renders the notice after an action. The query has only a key: with the text in the URL, a link
/// could put any sentence on the page.
pub(crate) fn render_notice(word: Option<&str>) -> Markup {
    let text = match word {
        Some("approved") => "Approved. Agents that waited for it continue.",
        Some("kept") => "Kept as it is, against the parent as it is now.",
        Some("changes-requested") => {
            "Changes requested. The plan is the agent's turn; it gets your words at once."
        }
        Some("condemned") => "Rejected. Everything below it is stale.",
        Some("commented") => {
            "Comment added. The agent reads it while it waits, or in its next briefing."
        }
        Some("restored") => "Restored. The text before it is kept as a version.",
        Some("accepted") => "Accepted as it is, with your reason.",
        Some("passed") => "Passed: the finding no longer applies.",
        Some("sent-back") => "Sent back to the author, with your words.",
        Some("concluded") => "The iteration has ended; its result is below.",
        Some("retried") => "Retried successfully.",
        Some("failed-again") => "Retried, and failed again; the tick shows the error.",
        Some("skipped") => "Skipped. The loop continues without it.",
        Some("undone") => "Undone. The log keeps both operations.",
        _ => return html! {},
    };
    html! { p.notice role="status" { (text) } }
}
