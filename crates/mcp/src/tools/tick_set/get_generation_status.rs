//! The tool `get_generation_status`.

use application::generation::view::show_generation;
use application::{Context, Failure};
use serde_json::Value;

use super::{SceneOnly, scene_schema};
use crate::tools::arguments::{read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const GET_GENERATION_STATUS: Tool = Tool {
    name: "get_generation_status",
    description: "Use to see how a scene that is being written stands: its step, what was found, whether its blueprint changed.",
    set: Toolset::Tick,
    hints: Hints::READS,
    input: |_| scene_schema(),
    output: || {
        schema::result(&[
            ("scene", "string"),
            ("status", "string"),
            ("step", "string"),
        ])
    },
    run,
};

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let SceneOnly { scene_id } = read(arguments)?;
    value(&show_generation(ctx, &[scene_id])?)
}
