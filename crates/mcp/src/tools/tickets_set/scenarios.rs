//! The tool `scenarios`.

use application::tickets::{ScenariosView, finish_scenario, list_scenarios};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
// Tagged by `action`, so that serde names the missing field of that very action.
#[serde(tag = "action", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Arguments {
    List {
        /// list: its id
        #[serde(default)]
        ticket: Option<String>,
    },
    Done {
        /// done: name or path
        #[serde(default)]
        scenario: Option<String>,
    },
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<ScenariosView, Failure> {
    match arguments {
        Arguments::List { ticket } => list_scenarios(ctx, ticket.as_slice()),
        // Without a name it is the scenario in focus, as in the command line.
        Arguments::Done { scenario } => finish_scenario(ctx, scenario.as_slice()),
    }
}
