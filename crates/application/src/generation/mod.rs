//! Generation of a scene's prose: start, ask for the next step, submit the answer, until the prose
//! is committed.
//!
//! Each step is an operation of its own, so that an interrupted generation resumes where it stopped
//! and no paid answer is lost.

pub(crate) mod material;

pub mod advance;
mod author_guidance;
pub mod start_generation;
pub mod story_progress;
pub mod variants;
pub mod view;
