//! Ticks: one iteration of the autonomous loop, from the planner's prompt to the executed plan.
//!
//! Pure, and without a model: the caller sends [`context`]'s prompt and [`plan`]'s schema to one,
//! and its answer is validated and run here ([`execute`]). [`offline`] is a planner without a
//! model.

pub mod context;
pub mod execute;
pub mod files;
pub mod offline;
pub mod plan;
mod record;
pub mod tools;

pub use record::{
    ContextUsed, MAX_TICK_ATTEMPTS, ModelSpending, TickRecord, TickState, TickStatus,
};
