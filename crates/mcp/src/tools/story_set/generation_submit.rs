//! The tool `story_scene_submit`.

use application::generation::advance::{NextGenerationStep, StepAnswer, submit_step};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::signature;
use crate::tools::arguments::node_words;

// Text and verdict are two fields instead of a union type, which some clients reject.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// alias or path
    scene: String,
    /// from the step
    nonce: String,
    /// for write, conclude and revise
    #[serde(default)]
    text: Option<String>,
    /// for judge, of the schema the step returned
    #[serde(default)]
    #[schemars(extend("type" = "object"))]
    verdict: Option<Value>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<NextGenerationStep, Failure> {
    let text = arguments.text.map(Value::String);
    let answer = StepAnswer {
        nonce: arguments.nonce,
        answer: arguments.verdict.or(text).unwrap_or(Value::Null),
        writer: signature(ctx),
        ..StepAnswer::default()
    };
    submit_step(ctx, &node_words(&arguments.scene), &answer)
}
