//! The tools `story_memory_reread` and `story_memory_read_submit`.

use application::memory::reread_prose::{
    ReadingAnswer, RereadOutcome, reread_by_rules, submit_reading,
};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::signature;
use crate::tools::arguments::node_words;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// alias or path; without it the whole story
    #[serde(default)]
    node: Option<String>,
}

pub(super) fn run(
    ctx: &Context<'_>,
    Arguments { node }: Arguments,
) -> Result<RereadOutcome, Failure> {
    reread_by_rules(ctx, &node.map(|node| node_words(&node)).unwrap_or_default())
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Submitted {
    /// alias or path
    scene: String,
    /// of the request
    nonce: String,
    /// by the schema of the request
    verdict: Map<String, Value>,
}

pub(super) fn submit(ctx: &Context<'_>, submitted: Submitted) -> Result<RereadOutcome, Failure> {
    let answer = ReadingAnswer {
        nonce: submitted.nonce,
        verdict: Value::Object(submitted.verdict),
        reader: signature(ctx),
        spent: Vec::new(),
    };
    submit_reading(ctx, &node_words(&submitted.scene), &answer)
}
