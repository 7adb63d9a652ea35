//! Writing a scene: start, ask, take the answer, and again, until it is kept. Each step is committed by itself.

mod material;

pub mod advance;
pub mod start_generation;
pub mod view;
