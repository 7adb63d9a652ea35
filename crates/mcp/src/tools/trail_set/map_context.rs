//! The tool `map_context`.

use application::sessions::declare_intent::PlaceOutcome;
use application::sessions::map_context::{MapRequest, map_context};
use application::{Context, Failure};
use domain::node::Progress;
use domain::trail::TrailLevel;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct MapContext;

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

impl ToolDefinition for MapContext {
    const NAME: &'static str = "map_context";
    const DESCRIPTION: &'static str = "Use whenever the work moves: a tactic of the trajectory or an action of the tactic, and how far it is. Do it before writing files.";
    const SET: Toolset = Toolset::Trail;
    const HINTS: Hints = Hints::CHANGES;
    type Arguments = Arguments;
    type Outcome = PlaceOutcome;

    fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<PlaceOutcome, Failure> {
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
}
