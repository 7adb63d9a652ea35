//! Quality reviews with a bounded number of iterations, for any subject: a plan, code,
//! documentation, prose.
//!
//! Pure. A review is a list of checks, each with a severity and a verdict, judged in iterations.
//! Its subject is only a name; what it refers to is the caller's business.

mod file;
mod item;
mod loop_state;
mod severity;

pub use file::{PHASES, is_phase, render_file};
pub use item::{Item, ItemStatus, Resolution, ResolutionKind};
pub use loop_state::{Concluded, LoopState, Review, ReviewRefused, Said, Verdict};
pub use severity::Severity;
