//! Reviews: add checks, judge them, conclude an iteration, accept a finding, show. One use case per
//! file.

mod review_change;

pub mod accept;
pub mod add;
pub mod conclude;
pub mod judge;
pub mod status;

pub use review_change::{ItemOutcome, ReviewVerdictView, ReviewView};
pub(crate) use review_change::{attach_verdict, review_actor, stage_review};
