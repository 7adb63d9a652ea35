//! Quality reviews that come to an end, whatever is reviewed: a plan, code, documentation, prose.
//!
//! Pure. A review is a list of checks, each with a severity and a verdict, gone through in iterations. It knows
//! nothing of what it is about: its subject is a name.

mod file;
mod item;
mod loop_state;
mod severity;

pub use file::{PHASES, is_phase, render_file};
pub use item::{Item, ItemStatus, Resolution, ResolutionKind};
pub use loop_state::{Concluded, LoopState, Review, ReviewRefused, Said, Verdict};
pub use severity::Severity;
