//! The form that creates a plan: a ticket with its keys, or a plan of another level with its outline.

use application::shape::{ChangeShapeRequest, ShapeChange, change_shape};
use application::tickets::{NewTicket, create_ticket, is_ticket_level};
use application::{Context, Failure};
use axum::Extension as Who;
use axum::extract::{Form, State};
use axum::response::{IntoResponse, Redirect, Response};
use domain::authorization::AuthenticatedPrincipal;
use domain::ids::OperationId;
use serde::Deserialize;

use crate::actions::ActionDone;
use crate::frame::Rights;
use crate::pages::new_plan::render_refused_form;
use crate::refusal::{Refusal, status_of_kind};
use crate::{Dashboard, urls};

/// A new plan.
#[derive(Clone, Default, Deserialize)]
pub(crate) struct CreateForm {
    pub(crate) level: String,
    #[serde(default)]
    pub(crate) title: String,
    /// The parent; empty at the top.
    #[serde(default)]
    pub(crate) under: String,
    /// A name instead of the next number.
    #[serde(default)]
    pub(crate) name: String,
    /// The type of a ticket.
    #[serde(default)]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) priority: String,
    /// The text of a ticket below its title.
    #[serde(default)]
    pub(crate) body: String,
}

/// Creates a plan and leads to where its text is written; that of a ticket with a text is its page.
pub(crate) async fn create_plan(
    State(dashboard): State<Dashboard>,
    rights: Rights,
    Who(who): Who<AuthenticatedPrincipal>,
    Form(form): Form<CreateForm>,
) -> Result<Response, Refusal> {
    let has_text = !form.body.trim().is_empty();
    let wanted = form.clone();
    let created = dashboard
        .ask_as(who.principal, move |ctx| create(ctx, &wanted))
        .await;
    let (path, operation) = match created {
        Ok(created) => created,
        // The form again with everything that was typed, and what is wrong.
        Err(failure) => {
            let page = render_refused_form(&dashboard, &rights, &form, &failure).await?;
            return Ok((status_of_kind(failure.kind), page).into_response());
        }
    };
    let page = match has_text {
        true => urls::node_url(&path),
        false => urls::edit_url(&path),
    };
    let done = ActionDone::recorded("created", operation);
    Ok(Redirect::to(&done.address_on(&page)).into_response())
}

fn create(ctx: &Context<'_>, form: &CreateForm) -> Result<(String, Option<OperationId>), Failure> {
    let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    if form.title.trim().is_empty() {
        return Err(Failure::invalid("a plan needs a title"));
    }
    if is_ticket_level(ctx, &form.level) {
        let mut request = NewTicket::with_title(&form.title);
        request.parent = given(&form.under).map(|parent| vec![parent]);
        request.kind = given(&form.kind).unwrap_or(request.kind);
        request.priority = given(&form.priority).filter(|word| word != "normal");
        request.body = given(&form.body.replace("\r\n", "\n"));
        return create_ticket(ctx, &request).map(|ticket| (ticket.path, ticket.operation));
    }
    let request = ChangeShapeRequest {
        change: ShapeChange::Add {
            level: form.level.clone(),
            under: given(&form.under),
            name: given(&form.name),
            title: given(&form.title),
        },
        dry_run: false,
    };
    let outcome = change_shape(ctx, &request)?;
    let path = outcome.node.ok_or_else(|| {
        Failure::internal(
            "internal error in Throughline (please report it): the new plan has no path",
        )
    })?;
    Ok((path, outcome.operation))
}
