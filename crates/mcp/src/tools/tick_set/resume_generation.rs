//! The tool `resume_generation`.

use application::generation::advance::next_step;
use application::generation::start_generation::resume_generation;
use application::{Context, Failure};
use serde_json::Value;

use super::{SceneOnly, scene_schema};
use crate::tools::arguments::{read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const RESUME_GENERATION: Tool = Tool {
    name: "resume_generation",
    description: "Use to go on with a scene that stopped: returns the step it is at. A scene that is held is kept as it is.",
    set: Toolset::Tick,
    hints: Hints::CHANGES,
    input: |_| scene_schema(),
    output: || schema::result(&[("next", "string")]),
    run,
};

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let SceneOnly { scene_id } = read(arguments)?;
    // The resolved path of the scene goes on, so that both calls mean the same one.
    let resumed = resume_generation(ctx, &[scene_id])?;
    value(&next_step(ctx, &[resumed.scene])?)
}
