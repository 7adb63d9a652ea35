//! Authorization middleware: the scope a form needs. The server has authenticated the request.

use application::Failure;
use axum::Extension;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use domain::authorization::{AuthenticatedPrincipal, Scope};
use domain::scope_table::scope_of_form;

use crate::refusal::Refusal;

/// Requires the scope of the form that a request sends.
pub(crate) async fn require_form_scope(
    who: Extension<AuthenticatedPrincipal>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path();
    // A form that the table does not list needs the scope of a decision, so one that was forgotten
    // there is refused rather than open.
    let form = path.strip_prefix("/do/").unwrap_or(path);
    require_scope(scope_of_form(form), &who, request, next).await
}

async fn require_scope(
    needed: Scope,
    who: &AuthenticatedPrincipal,
    request: Request,
    next: Next,
) -> Response {
    if who.scope.is_sufficient_for(needed) {
        return next.run(request).await;
    }
    let message = format!(
        "this needs a token of the scope `{needed}`, and yours has `{}`",
        who.scope
    );
    // Names the missing scope and the command, because the person asked has to type it.
    let failure = Failure::refused(message).with_step(needed.describe_access(&who.principal));
    Refusal::from(failure).into_response()
}
