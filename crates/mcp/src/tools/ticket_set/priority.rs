//! The tool `ticket_priority`.

use application::set_priority::set_priority;
use application::tickets::TicketView;
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::node_words;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// its id
    ticket: String,
    /// urgent, high, normal or low
    priority: String,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<TicketView, Failure> {
    set_priority(ctx, &node_words(&arguments.ticket), &arguments.priority)
}
