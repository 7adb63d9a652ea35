//! Quality reviews with a bounded number of iterations, for any subject: a plan, code,
//! documentation, prose.
//!
//! Pure. A review is a list of checks, each with a severity and a verdict, judged in iterations.
//! Its subject is only a name; what it refers to is the caller's business.

mod item;
mod loop_state;
mod review_file;
mod severity;

pub use item::{ItemStatus, Resolution, ResolutionKind, ReviewItem};
pub use loop_state::{
    CheckVerdict, IterationOutcome, LoopState, Review, ReviewActor, ReviewRefused,
};
pub use review_file::{REVIEW_PHASES, is_review_phase, render_review_file};
pub use severity::CheckSeverity;
