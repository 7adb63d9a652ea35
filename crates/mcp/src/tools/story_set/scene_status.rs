//! The tool `story_scene_status`.

use application::generation::view::{list_generations, show_generation};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::{AnyObject, node_words};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// alias or path; all without it
    #[serde(default)]
    scene: Option<String>,
}

pub(super) fn run(ctx: &Context<'_>, Arguments { scene }: Arguments) -> Result<AnyObject, Failure> {
    match scene {
        Some(scene) => AnyObject::new(&show_generation(ctx, &node_words(&scene))?),
        None => AnyObject::list("scenes", &list_generations(ctx)?),
    }
}
