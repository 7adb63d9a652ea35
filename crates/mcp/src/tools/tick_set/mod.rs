//! The tick loop with control inverted: the host's model plans and writes, these tools give the
//! prompts and validate the results.

mod generation_submit;
mod start_generation;
mod tick_begin;
mod tick_submit;

use application::Context;
use application::generation::advance::next_step;
use application::generation::start_generation::resume_generation;
use application::generation::view::show_generation;
use domain::ids::Principal;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::{Hints, Tool};

/// The tools of this set, in listing order.
pub(super) fn list_tools() -> Vec<Tool> {
    vec![
        Hints::CHANGES.define_tool(
            "tick_begin",
            "Use to plan the story's next step yourself: returns the prompt, the schema of the plan and a nonce. Answer with tick_submit.",
            tick_begin::run,
        ),
        Hints::GOES_ON.define_tool(
            "tick_submit",
            "Use to answer tick_begin: the plan is checked, kept and run. A plan that cannot be run comes back with the reason; fix it and submit again.",
            tick_submit::run,
        ),
        Hints::CHANGES.define_tool(
            "start_generation",
            "Use to write a scene from its approved blueprint yourself: returns the prompt of the first step and a nonce. Answer with generation_submit. Without scene_id: the next one.",
            start_generation::run,
        ),
        Hints::GOES_ON.define_tool(
            "generation_submit",
            "Use to answer a step of a scene: prose as `text`, a verdict as `verdict`. Returns the next step, or how the scene ended.",
            generation_submit::run,
        ),
        Hints::READS.define_tool(
            "get_generation_status",
            "Use to see how a scene that is being written stands: its step, what was found, whether its blueprint changed.",
            |ctx, SceneOnly { scene_id }| show_generation(ctx, &[scene_id]),
        ),
        Hints::CHANGES.define_tool(
            "resume_generation",
            "Use to go on with a scene that stopped: returns the step it is at. A scene that is held is kept as it is.",
            |ctx, SceneOnly { scene_id }| {
                // The resolved path of the scene goes on, so that both calls mean the same one.
                let resumed = resume_generation(ctx, &[scene_id])?;
                next_step(ctx, &[resumed.scene])
            },
        ),
    ]
}

/// Returns the author recorded for the output of a host's model.
fn signature(ctx: &Context<'_>) -> String {
    match &ctx.actor {
        Principal::Agent { host, .. } => format!("host/{host}"),
        other => other.to_string(),
    }
}

/// A scene only.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SceneOnly {
    /// alias or path
    scene_id: String,
}
