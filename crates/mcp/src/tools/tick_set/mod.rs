//! The tick loop with control inverted: the host's model plans and writes, these tools give the
//! prompts and validate the results.

mod generation_submit;
mod get_generation_status;
mod resume_generation;
mod start_generation;
mod tick_begin;
mod tick_submit;

pub(super) use generation_submit::GENERATION_SUBMIT;
pub(super) use get_generation_status::GET_GENERATION_STATUS;
pub(super) use resume_generation::RESUME_GENERATION;
pub(super) use start_generation::START_GENERATION;
pub(super) use tick_begin::TICK_BEGIN;
pub(super) use tick_submit::TICK_SUBMIT;

use application::Context;
use domain::ids::Principal;

/// Returns the author recorded for the output of a host's model.
fn signature(ctx: &Context<'_>) -> String {
    match &ctx.actor {
        Principal::Agent { host, .. } => format!("host/{host}"),
        other => other.to_string(),
    }
}

/// A scene only.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct SceneOnly {
    scene_id: String,
}

fn scene_schema() -> serde_json::Value {
    crate::tools::schema::object(vec![("scene_id", crate::tools::schema::node(), true)])
}
