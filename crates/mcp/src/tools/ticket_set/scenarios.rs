//! The tool `ticket_scenarios`.

use application::tickets::{ScenariosView, list_scenarios};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// its id
    #[serde(default)]
    ticket: Option<String>,
}

pub(super) fn run(
    ctx: &Context<'_>,
    Arguments { ticket }: Arguments,
) -> Result<ScenariosView, Failure> {
    list_scenarios(ctx, ticket.as_slice())
}
