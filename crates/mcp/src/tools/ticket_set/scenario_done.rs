//! The tool `ticket_scenario_done`.

use application::tickets::{ScenariosView, finish_scenario};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// name or path
    #[serde(default)]
    scenario: Option<String>,
}

pub(super) fn run(
    ctx: &Context<'_>,
    Arguments { scenario }: Arguments,
) -> Result<ScenariosView, Failure> {
    finish_scenario(ctx, scenario.as_slice())
}
