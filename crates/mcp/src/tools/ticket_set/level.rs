//! The tool `ticket_level`.

use application::tickets::{TicketView, set_work_level};
use application::{Context, Failure};
use domain::work::work_level::WorkLevel;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::node_words;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// its id
    ticket: String,
    #[serde(default)]
    level: Option<WorkLevel>,
    /// why
    #[serde(default)]
    reason: Option<String>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<TicketView, Failure> {
    set_work_level(
        ctx,
        &node_words(&arguments.ticket),
        arguments.level,
        arguments.reason.as_deref(),
    )
}
