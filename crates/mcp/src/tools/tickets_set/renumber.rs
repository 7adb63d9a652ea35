//! The tool `renumber`.

use application::renumber::{RenumberOutcome, RenumberRequest, renumber_node};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct Renumber;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// id, such as 002~2
    ticket: String,
    /// new id; the next free one without it
    #[serde(default)]
    id: Option<String>,
    /// only list what would change
    #[serde(default)]
    dry_run: bool,
}

impl ToolDefinition for Renumber {
    const NAME: &'static str = "renumber";
    const DESCRIPTION: &'static str = "Use when two tickets have one id (a merge): gives one another id, with folder, children and references. One operation, can be undone.";
    const SET: Toolset = Toolset::Tickets;
    const HINTS: Hints = Hints::GOES_ON;
    type Arguments = Arguments;
    type Outcome = RenumberOutcome;

    fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<RenumberOutcome, Failure> {
        let request = RenumberRequest {
            node: vec![arguments.ticket],
            id: arguments.id,
            dry_run: arguments.dry_run,
        };
        renumber_node(ctx, &request)
    }
}
