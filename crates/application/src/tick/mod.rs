//! The autonomous loop: ask for a plan, keep it, run it. The model is the edge's: [`begin_tick`] says what to ask,
//! [`submit_plan`] takes the answer.

pub(crate) mod gather;
mod stage;

pub mod begin_tick;
pub mod run_tick;
pub mod skip_tick;
pub mod spending;
pub mod submit_plan;
