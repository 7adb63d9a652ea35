//! The tool `generation_submit`.

use application::generation::advance::{StepAnswer, submit_step};
use application::{Context, Failure};
use serde::Deserialize;
use serde_json::{Value, json};

use super::signature;
use crate::tools::arguments::{read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const GENERATION_SUBMIT: Tool = Tool {
    name: "generation_submit",
    description: "Use to answer a step of a scene: prose as `text`, a verdict as `verdict`. Returns the next step, or how the scene ended.",
    set: Toolset::Tick,
    hints: Hints::GOES_ON,
    input: |_| {
        schema::object(vec![
            ("scene_id", schema::node(), true),
            ("nonce", schema::text("from the step"), true),
            (
                "text",
                schema::text("for write, conclude and revise"),
                false,
            ),
            (
                "verdict",
                json!({ "type": "object", "description": "for judge, of the schema the step returned" }),
                false,
            ),
        ])
    },
    output: || schema::result(&[("next", "string")]),
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    scene_id: String,
    nonce: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    verdict: Option<Value>,
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let Arguments {
        scene_id,
        nonce,
        text,
        verdict,
    } = read(arguments)?;
    // Two fields instead of a union type, which some clients reject.
    let answer = verdict.or(text.map(Value::String)).unwrap_or(Value::Null);
    let answer = StepAnswer {
        nonce,
        answer,
        writer: signature(ctx),
        ..StepAnswer::default()
    };
    value(&submit_step(ctx, &[scene_id], &answer)?)
}
