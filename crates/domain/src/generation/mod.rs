//! Generation of a scene from its blueprint: the steps, the checks without a model, and what a
//! judge has to prove.
//!
//! Pure. Each step is a prompt for a writer or a judge ([`prompts`]) and a state transition on the
//! answer ([`steps`]).

pub mod acceptance;
pub mod checks;
pub mod continuity;
pub mod contradiction;
mod entity_projection;
mod feature_rules;
pub mod guidance;
mod model_markup;
mod name_agreement;
pub mod prompts;
pub mod reading;
mod record;
pub mod refusal;
pub mod review;
pub mod rule_reader;
mod sentences;
pub mod steps;
mod text_tokens;
pub mod update;
mod value_classes;
pub mod variants;
pub mod verdict;

pub use record::{
    COMMENT_CHECK, FindingSeverity, Generation, GenerationStatus, GenerationStep, SceneFinding,
    SceneVariant, count_findings,
};
