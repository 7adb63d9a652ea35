//! Generation of a scene from its blueprint: the steps, the checks without a model, and what a
//! judge has to prove.
//!
//! Pure. Each step is a prompt for a writer or a judge ([`prompts`]) and a state transition on the
//! answer ([`steps`]).

pub mod acceptance;
pub mod checks;
pub mod continuity;
pub mod prompts;
mod record;
pub mod review;
pub mod steps;
pub mod update;
pub mod verdict;

pub use record::{FindingSeverity, Generation, GenerationStatus, GenerationStep, SceneFinding};
