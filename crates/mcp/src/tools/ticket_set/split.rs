//! The tool `ticket_split`.

use application::split_ticket::split_ticket;
use application::tickets::TicketView;
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tools::arguments::node_words;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// its id
    ticket: String,
    /// one for each part
    titles: Vec<String>,
}

// `id`, so that a client finds the ticket as in every other outcome.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Split {
    id: String,
    children: Vec<TicketView>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<Split, Failure> {
    let split = split_ticket(ctx, &node_words(&arguments.ticket), &arguments.titles)?;
    Ok(Split {
        id: split.parent,
        children: split.children,
    })
}
