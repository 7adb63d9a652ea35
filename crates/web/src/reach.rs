//! How far somebody may go here. Who they are was found out by the server, which put it into the request.

use application::{Failure, FailureKind};
use axum::Extension;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use domain::access::{Admitted, Scope};

use crate::refusal::Refusal;

/// Lets through who may do what agents do.
pub(crate) async fn speaks(who: Extension<Admitted>, request: Request, next: Next) -> Response {
    up_to(Scope::Agent, &who, request, next).await
}

/// Lets through who may decide.
pub(crate) async fn decides(who: Extension<Admitted>, request: Request, next: Next) -> Response {
    up_to(Scope::Approve, &who, request, next).await
}

async fn up_to(needed: Scope, who: &Admitted, request: Request, next: Next) -> Response {
    if who.scope.covers(needed) {
        return next.run(request).await;
    }
    let message = format!(
        "this needs a token of the scope `{needed}`, and yours has `{}`",
        who.scope
    );
    let failure = Failure::new(FailureKind::Refused, message).step(format!(
        "ask for one: tl token create NAME --as {} --scope {needed}",
        who.principal
    ));
    Refusal::from(failure).into_response()
}
