//! The tool `ticket_list`.

use application::list_tickets::{TicketFilter, TicketLine, list_tickets};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// also complete and cancelled ones
    #[serde(default)]
    all: bool,
    #[serde(default)]
    label: Option<String>,
    #[serde(default)]
    phase: Option<String>,
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 500))]
    limit: usize,
}

fn default_limit() -> usize {
    50
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct TicketList {
    tickets: Vec<TicketLine>,
    // Number of those that did not fit the limit.
    more: usize,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<TicketList, Failure> {
    let filter = TicketFilter {
        all: arguments.all,
        label: arguments.label,
        phase: arguments.phase,
    };
    let mut tickets = list_tickets(ctx, &filter)?;
    // Clamped although the schema has bounds: not every client validates arguments.
    let limit = arguments.limit.clamp(1, 500);
    let more = tickets.len().saturating_sub(limit);
    tickets.truncate(limit);
    Ok(TicketList { tickets, more })
}
