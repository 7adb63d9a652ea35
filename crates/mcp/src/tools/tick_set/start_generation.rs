//! The tool `start_generation`.

use application::generation::advance::next_step;
use application::generation::start_generation::{next_unwritten_scene, start_generation};
use application::{Context, Failure};
use serde::Deserialize;
use serde_json::Value;

use crate::tools::arguments::{read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const START_GENERATION: Tool = Tool {
    name: "start_generation",
    description: "Use to write a scene from its approved blueprint yourself: returns the prompt of the first step and a nonce. Answer with generation_submit. Without scene_id: the next one.",
    set: Toolset::Tick,
    hints: Hints::CHANGES,
    input: |_| schema::object(vec![("scene_id", schema::node(), false)]),
    output: || schema::result(&[("next", "string")]),
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(default)]
    scene_id: Option<String>,
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let Arguments { scene_id } = read(arguments)?;
    // Without an id the use case chooses, so that a host can write scene after scene without
    // knowing the tree.
    let scene = scene_id.map_or_else(|| next_unwritten_scene(ctx), Ok)?;
    let started = start_generation(ctx, &[scene])?;
    value(&next_step(ctx, &[started.scene])?)
}
