//! Authorization middleware: the scope a form needs. The server has authenticated the request.

use application::Failure;
use axum::Extension;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use domain::authorization::{AuthenticatedPrincipal, Scope};

use crate::refusal::Refusal;

/// Requires the scope `agent`.
pub(crate) async fn require_agent(
    who: Extension<AuthenticatedPrincipal>,
    request: Request,
    next: Next,
) -> Response {
    require_scope(Scope::Agent, &who, request, next).await
}

/// Requires the scope `approve`.
pub(crate) async fn require_approve(
    who: Extension<AuthenticatedPrincipal>,
    request: Request,
    next: Next,
) -> Response {
    require_scope(Scope::Approve, &who, request, next).await
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
    let failure = Failure::refused(message).with_step(format!(
        "ask for one: tl team token create NAME --as {} --scope {needed}",
        who.principal
    ));
    Refusal::from(failure).into_response()
}
