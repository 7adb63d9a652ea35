//! The tick loop with control inverted: the host's model plans and writes, these tools give the
//! prompts and validate the results.

mod generation_submit;
mod get_generation_status;
mod resume_generation;
mod start_generation;
mod tick_begin;
mod tick_submit;

pub(super) use generation_submit::GenerationSubmit;
pub(super) use get_generation_status::GetGenerationStatus;
pub(super) use resume_generation::ResumeGeneration;
pub(super) use start_generation::StartGeneration;
pub(super) use tick_begin::TickBegin;
pub(super) use tick_submit::TickSubmit;

use application::Context;
use domain::ids::Principal;
use schemars::JsonSchema;
use serde::Deserialize;

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
