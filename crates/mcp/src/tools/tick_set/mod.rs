//! Tools of the autonomous loop, turned round: the host's own model plans and writes, the engine says what is wanted and
//! checks what comes.

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

/// How what a host's model made is signed.
fn signature(ctx: &Context<'_>) -> String {
    match &ctx.actor {
        Principal::Agent { host, .. } => format!("host/{host}"),
        other => other.to_string(),
    }
}

/// A scene, as the generation tools take it.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct SceneOnly {
    scene_id: String,
}

fn scene_schema() -> serde_json::Value {
    crate::tools::schema::object(vec![("scene_id", crate::tools::schema::node(), true)])
}
