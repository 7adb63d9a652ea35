//! Reviews: add checks, judge them, conclude an iteration, accept a finding, show. One use case per
//! file.

mod desk;

pub mod accept;
pub mod add;
pub mod conclude;
pub mod judge;
pub mod status;

pub(crate) use desk::staged;
pub use desk::{ItemOutcome, ReviewView};
