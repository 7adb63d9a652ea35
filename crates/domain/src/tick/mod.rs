//! One turn of the autonomous loop: what the planner is told, what it may ask for, and what becomes of it.
//!
//! Pure. The model is somebody else's: it is given [`context`]'s prompt and [`plan`]'s schema, and what it answers is
//! checked and run here ([`execute`]). [`offline`] is a planner without a model.

pub mod context;
pub mod execute;
pub mod files;
pub mod offline;
pub mod plan;
mod record;
pub mod tools;

pub use record::{ContextUsed, MOST_ATTEMPTS, Spending, TickRecord, TickState, TickStatus};
