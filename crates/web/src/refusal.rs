//! A use case's failure as an answer: the same words, with the status HTTP has for it.

use application::{Failure, FailureKind};
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use maud::html;
use serde_json::json;

use crate::pages::{Place, shell, worded};

fn status(kind: FailureKind) -> StatusCode {
    match kind {
        FailureKind::Refused => StatusCode::FORBIDDEN,
        FailureKind::NotFound => StatusCode::NOT_FOUND,
        FailureKind::Conflict => StatusCode::CONFLICT,
        FailureKind::Invalid => StatusCode::BAD_REQUEST,
        FailureKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        FailureKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// A failure on a page.
pub(crate) struct Refusal(Failure, Option<String>);

impl Refusal {
    /// A failure of something that was asked for on the page at `back`.
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
        let content = html! {
            section.notice.refused role="alert" {
                h1 { "This was not done" }
                p { (worded(&failure.message)) }
                @if !failure.next_steps.is_empty() {
                    h2 { "What to do next" }
                    ul { @for step in &failure.next_steps { li { code { (step) } } } }
                }
                p { a href=(back.as_deref().unwrap_or("/")) { "Go back" } }
            }
        };
        (
            status(failure.kind),
            shell(Place::Elsewhere, "Not done", &content),
        )
            .into_response()
    }
}

/// A failure in the API.
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
