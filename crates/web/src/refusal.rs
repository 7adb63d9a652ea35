//! Failures as HTTP responses: a page or JSON, with the status code for the failure's kind.

use application::{Failure, FailureKind};
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use domain::next_step::NextStep;
use maud::{Markup, html};
use serde_json::json;

use crate::components::{ButtonKind, render_link_button};
use crate::pages::{NavigationEntry, link_to_node, render_message, render_page};
use crate::urls::{encode_query_value, node_url};

/// Returns the status code of a kind of failure.
pub(crate) fn status_of_kind(kind: FailureKind) -> StatusCode {
    match kind {
        // 403 and not 409: the rule says no, and repeating the request does not help.
        FailureKind::Refused => StatusCode::FORBIDDEN,
        FailureKind::NotFound => StatusCode::NOT_FOUND,
        // Worth repeating once the page has been read again, unlike a refusal.
        FailureKind::Conflict => StatusCode::CONFLICT,
        FailureKind::Invalid => StatusCode::BAD_REQUEST,
        FailureKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        FailureKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// A failure as a page, with the ways on.
pub(crate) struct Refusal {
    failure: Failure,
    back: Option<String>,
    /// Where the change is shown that a conflict is about.
    changed: Option<String>,
}

impl Refusal {
    /// Wraps a failure of an action that was started on the page at `back`.
    pub(crate) fn on(back: String) -> impl FnOnce(Failure) -> Self {
        Self::with_change(back, None)
    }

    /// Like [`Self::on`], for a form about a version: a conflict leads to the change since.
    pub(crate) fn with_change(
        back: String,
        changed: Option<String>,
    ) -> impl FnOnce(Failure) -> Self {
        move |failure| Self {
            changed: changed.filter(|_| failure.kind == FailureKind::Conflict),
            failure,
            back: Some(back),
        }
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            back: None,
            changed: None,
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Self {
            failure,
            back,
            changed,
        } = self;
        // The same message and steps as in the terminal, with names as code.
        let content = html! {
            section.notice.refused role="alert" {
                h1 { (heading(failure.kind)) }
                @if let Some(changed) = &changed {
                    p { "It is no longer what you decided about, so nothing was decided: " (render_message(&failure.message)) "." }
                    p { (render_link_button(ButtonKind::Primary, "See what changed, and decide", changed)) }
                } @else { (render_failure(&failure)) }
                p { a href=(back.as_deref().unwrap_or("/")) { "Go back" } }
            }
        };
        (
            status_of_kind(failure.kind),
            render_page(NavigationEntry::Elsewhere, heading(failure.kind), &content),
        )
            .into_response()
    }
}

/// Renders the message of a failure with its next steps.
pub(crate) fn render_failure(failure: &Failure) -> Markup {
    html! {
        p { (render_suggestions(&failure.message)) }
        @if !failure.next_steps.is_empty() {
            h2 { "What to do next" }
            ul { @for step in &failure.next_steps { li { (render_next_step(step)) } } }
        }
    }
}

/// Renders a message; the plans it suggests are links.
fn render_suggestions(message: &str) -> Markup {
    match message.split_once("did you mean ") {
        Some((problem, suggested)) if problem.starts_with("no node") => html! {
            (render_message(problem)) "did you mean "
            @for (index, part) in suggested.split('`').enumerate() {
                @if index % 2 == 1 { (link_to_node(part)) } @else { (part) }
            }
        },
        _ => render_message(message),
    }
}

/// Returns the heading of a failure's page. A page that does not exist is no action that failed.
fn heading(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::NotFound => "Not found",
        FailureKind::Refused => "Not allowed",
        FailureKind::Conflict => "Changed meanwhile",
        FailureKind::Invalid | FailureKind::Unavailable | FailureKind::Internal => {
            "This action failed"
        }
    }
}

/// Renders a next step: a link to the page that does the same, with the command beside it.
pub(crate) fn render_next_step(step: &str) -> Markup {
    let parsed = NextStep::parse(step);
    match (page_of_step(&parsed), parsed) {
        (Some((address, label)), NextStep::Command { arguments, comment }) => html! {
            a href=(address) { (label) }
            @if let Some(comment) = comment { ": " (comment) }
            " " code.quiet { "tl " (arguments.join(" ")) }
        },
        // The page is one of the ways to approve, and the one at hand.
        (Some((address, label)), NextStep::AskPerson { .. } | NextStep::AskToRevalidate { .. }) => {
            html! {
                a href=(address) { (label) } ": decide it there"
            }
        }
        // Instructions and commands without a page stay text; a reader may have a shell.
        _ => html! { (render_message(step)) },
    }
}

/// Returns the page for a command of a next step, and what its link says.
fn page_of_step(step: &NextStep) -> Option<(String, String)> {
    if let Some(node) = step.concerned_node() {
        return Some((node_url(node), format!("Open {node}")));
    }
    let NextStep::Command { arguments, .. } = step else {
        return None;
    };
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (address, label) = match words.as_slice() {
        ["tree", ..] => ("/tree".to_owned(), "Open the tree"),
        ["status" | "next", ..] => ("/".to_owned(), "Open what waits"),
        ["undo", "--to", ..] => return None,
        ["undo", operation, ..] => (format!("/undo/{operation}"), "Look at the undo"),
        ["log" | "undo", ..] => ("/timeline".to_owned(), "Open the timeline"),
        ["review", ..] => ("/reviews".to_owned(), "Open the reviews"),
        ["story", "tick", ..] => ("/story".to_owned(), "Open the ticks"),
        ["search", word, ..] => (
            format!("/search?text={}", encode_query_value(word)),
            "Search the project",
        ),
        _ => return None,
    };
    Some((address, label.to_owned()))
}

/// A failure as JSON.
pub(crate) struct ApiRefusal(Failure);

impl From<Failure> for ApiRefusal {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}

impl IntoResponse for ApiRefusal {
    fn into_response(self) -> Response {
        let Failure {
            kind,
            message,
            next_steps,
            ..
        } = self.0;
        // The same kind, message and next steps as `--json` on the command line prints.
        let body = json!({ "error": { "kind": kind.as_str(), "message": message, "next_steps": next_steps } });
        (status_of_kind(kind), Json(body)).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_a_page_can_do_is_a_link() {
        for (step, wanted) in [
            ("tl tree", "<a href=\"/tree\">Open the tree</a>"),
            (
                "tl approve act-1/chapter-01   # first",
                "<a href=\"/nodes/act-1/chapter-01\">Open act-1/chapter-01</a>: first",
            ),
            ("tl search \"a b\"", "href=\"/search?text=a%20b\""),
            (
                &domain::approval::ask_person_next_step("act-1"),
                "<a href=\"/nodes/act-1\">Open act-1</a>: decide it there",
            ),
            (
                "ask the person: `tl x`",
                "ask the person: <code>tl x</code>",
            ),
            ("tl team token create NAME", "tl team token create NAME"),
        ] {
            let shown = render_next_step(step).into_string();
            assert!(shown.contains(wanted), "{step}: {shown}");
        }
    }
}
