//! The tool `story_scene_begin`.

use application::generation::advance::{NextGenerationStep, next_step};
use application::generation::start_generation::{next_unwritten_scene, start_generation};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::node_words;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// alias or path
    #[serde(default)]
    scene: Option<String>,
}

pub(super) fn run(
    ctx: &Context<'_>,
    Arguments { scene }: Arguments,
) -> Result<NextGenerationStep, Failure> {
    // Without an id the use case chooses, so that a host can write scene after scene without
    // knowing the tree.
    let scene = scene.map_or_else(|| next_unwritten_scene(ctx), Ok)?;
    let started = start_generation(ctx, &node_words(&scene))?;
    next_step(ctx, &[started.scene])
}
