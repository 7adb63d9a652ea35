//! The pages, one file each; here the shared fragments: status, time, principal, links.

pub(crate) mod board;
pub(crate) mod comments;
pub(crate) mod decide;
pub(crate) mod decision_bar;
pub(crate) mod diff;
pub(crate) mod edit;
pub(crate) mod gates;
pub(crate) mod graph;
pub(crate) mod image;
pub(crate) mod inbox;
pub(crate) mod memory;
pub(crate) mod new_plan;
pub(crate) mod node;
pub(crate) mod now;
pub(crate) mod operation;
pub(crate) mod outline;
pub(crate) mod plan_actions;
pub(crate) mod progress;
pub(crate) mod projects;
pub(crate) mod prose;
pub(crate) mod reviews;
pub(crate) mod search;
pub(crate) mod sessions;
pub(crate) mod settings;
pub(crate) mod shape;
mod shape_form;
mod shape_preview;
pub(crate) mod stats;
pub(crate) mod styleguide;
pub(crate) mod ticks;
pub(crate) mod timeline;
pub(crate) mod tree;
pub(crate) mod undo;

use application::Failure;
use domain::ids::Principal;
use domain::node::{Progress, Status};
use domain::time::Timestamp;
use maud::{Markup, html};

pub(crate) use crate::frame::NavigationEntry;
use crate::frame::Page;
use crate::refusal::Refusal;
use crate::urls;

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
