//! The tool `ticket_phase`.

use application::tickets::{TicketView, set_phase};
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
    #[schemars(extend("enum" = PHASES))]
    phase: String,
    /// why, where a phase is skipped
    #[serde(default)]
    reason: Option<String>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<TicketView, Failure> {
    set_phase(
        ctx,
        &node_words(&arguments.ticket),
        &arguments.phase,
        arguments.reason.as_deref(),
    )
}
