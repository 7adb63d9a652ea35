//! Writing a scene from its blueprint: the steps, what is checked without a model, what a judge must prove.
//!
//! Pure. Each step is a question for a writer or a judge ([`prompts`]) and what becomes of the answer ([`steps`]).

pub mod checks;
pub mod continuity;
pub mod prompts;
mod record;
pub mod review;
pub mod steps;
pub mod update;
pub mod verdict;

pub use record::{Finding, Generation, GenerationStatus, Severity, Step};
