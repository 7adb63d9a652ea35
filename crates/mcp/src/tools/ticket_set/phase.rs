//! The tool `ticket_phase`.

use application::tickets::{TicketView, set_phase, show_phase};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::node_words;
use crate::tools::schema::PHASES;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// its id
    ticket: String,
    /// without it the guide of the present phase is only read
    #[serde(default)]
    #[schemars(extend("enum" = PHASES))]
    phase: Option<String>,
    /// why, where a phase is skipped
    #[serde(default)]
    reason: Option<String>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<TicketView, Failure> {
    let ticket = node_words(&arguments.ticket);
    match &arguments.phase {
        Some(phase) => set_phase(ctx, &ticket, phase, arguments.reason.as_deref()),
        None => show_phase(ctx, &ticket),
    }
}
