//! The tool `story_scene_begin`.

use application::generation::advance::{NextGenerationStep, next_step};
use application::generation::start_generation::{
    GenerationRequest, next_unwritten_scene, start_generation,
};
use application::model_lease::refuse_leased_scene;
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
    /// number of drafts to choose from, 2 to 5
    #[serde(default)]
    variants: u32,
    /// revise the text in the book by the open comments on it
    #[serde(default)]
    revise: bool,
}

pub(super) fn run(
    ctx: &Context<'_>,
    Arguments {
        scene,
        variants,
        revise,
    }: Arguments,
) -> Result<NextGenerationStep, Failure> {
    // Without an id the use case chooses, so that a host can write scene after scene without
    // knowing the tree.
    let scene = scene.map_or_else(|| next_unwritten_scene(ctx), Ok)?;
    let request = GenerationRequest {
        variants,
        revises: revise,
    };
    let words = node_words(&scene);
    refuse_leased_scene(ctx, &words)?;
    let started = start_generation(ctx, &words, request)?;
    next_step(ctx, &[started.scene])
}
