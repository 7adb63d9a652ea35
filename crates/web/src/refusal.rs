//! Failures as HTTP responses: a page or JSON, with the status code for the failure's kind.

use application::{Failure, FailureKind};
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use domain::next_step::NextStep;
use maud::{Markup, html};
use serde_json::json;

use crate::pages::{NavigationEntry, render_message, render_page};
use crate::urls::node_url;

fn status(kind: FailureKind) -> StatusCode {
    match kind {
        // 403 and not 409: the rule says no, and repeating the request does not help.
        FailureKind::Refused => StatusCode::FORBIDDEN,
        FailureKind::NotFound => StatusCode::NOT_FOUND,
        FailureKind::Conflict => StatusCode::CONFLICT,
        FailureKind::Invalid => StatusCode::BAD_REQUEST,
        FailureKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        FailureKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// A failure as a page, with a link back.
pub(crate) struct Refusal(Failure, Option<String>);

impl Refusal {
    /// Wraps a failure of an action that was started on the page at `back`.
    pub(crate) fn on(back: String) -> impl FnOnce(Failure) -> Self {
        move |failure| Self(failure, Some(back))
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self(failure, None)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Self(failure, back) = self;
        // The same message and steps as in the terminal, with names as code.
        let content = html! {
            section.notice.refused role="alert" {
                h1 { "This action failed" }
                p { (render_message(&failure.message)) }
                @if !failure.next_steps.is_empty() {
                    h2 { "What to do next" }
                    ul { @for step in &failure.next_steps { li { (render_next_step(step)) } } }
                }
                p { a href=(back.as_deref().unwrap_or("/")) { "Go back" } }
            }
        };
        (
            status(failure.kind),
            render_page(NavigationEntry::Elsewhere, "Not done", &content),
        )
            .into_response()
    }
}

/// Renders a next step: a link to the plan it is about, or the command.
fn render_next_step(step: &str) -> Markup {
    match NextStep::parse(step).concerned_node() {
        Some(node) => html! { a href=(node_url(node)) { code { (step) } } },
        None => html! { code { (step) } },
    }
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
        let body = json!({ "error": { "kind": kind.as_str(), "message": message, "next_steps": next_steps } });
        (status(kind), Json(body)).into_response()
    }
}
