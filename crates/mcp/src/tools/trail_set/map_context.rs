//! The tool `trail_map`.

use application::sessions::declare_intent::PlaceOutcome;
use application::sessions::map_context::{MapRequest, map_context};
use application::{Context, Failure};
use domain::node::Progress;
use domain::trail::TrailLevel;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    // Without `trajectory`, which `declare_intent` begins.
    #[schemars(with = "String", extend("enum" = ["tactic", "action"]))]
    level: TrailLevel,
    /// one line
    content: String,
    #[serde(default)]
    status: Option<Progress>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<PlaceOutcome, Failure> {
    map_context(
        ctx,
        &MapRequest {
            level: arguments.level,
            text: arguments.content,
            // Mapping something means working on it.
            status: arguments.status.unwrap_or(Progress::Active),
        },
    )
}
