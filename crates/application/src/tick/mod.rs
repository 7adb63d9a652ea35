//! The tick loop: request a plan, record it, run it.
//!
//! The model belongs to the edge: [`begin_tick`] returns the request, [`submit_plan`] handles the
//! answer. No network call happens while a transaction is open.

mod action_stage;
pub(crate) mod story_state;

pub mod begin_tick;
pub mod consult_queries;
pub mod run_tick;
pub mod skip_tick;
pub mod spending;
pub mod submit_plan;
