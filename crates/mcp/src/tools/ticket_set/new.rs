//! The tool `ticket_new`.

use application::tickets::{NewTicket, TicketView, create_ticket};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::node_words;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    title: String,
    /// the ticket it is a part of
    #[serde(default)]
    parent: Option<String>,
    /// task without it
    #[serde(default, rename = "type")]
    kind: Option<String>,
    /// urgent, high, normal or low
    #[serde(default)]
    priority: Option<String>,
    /// a day
    #[serde(default)]
    due: Option<String>,
    #[serde(default)]
    labels: Vec<String>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<TicketView, Failure> {
    create_ticket(
        ctx,
        &NewTicket {
            // The id is allocated in the write transaction: two agents cannot get the same one.
            parent: arguments.parent.as_deref().map(node_words),
            kind: arguments.kind.unwrap_or_else(|| "task".to_owned()),
            priority: arguments.priority,
            due: arguments.due,
            labels: arguments.labels,
            ..NewTicket::with_title(&arguments.title)
        },
    )
}
