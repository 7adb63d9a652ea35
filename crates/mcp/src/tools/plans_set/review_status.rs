//! The tool `review_status`.

use application::reviews::status::show_review;
use application::{Context, Failure};
use serde::Deserialize;
use serde_json::Value;

use super::of;
use crate::tools::arguments::{read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const REVIEW_STATUS: Tool = Tool {
    name: "review_status",
    description: "Use to see a review: checks, verdicts, what stops the work, what waits for a person.",
    set: Toolset::Plans,
    hints: Hints::READS,
    input: |_| schema::object(vec![of()]),
    output: || {
        schema::result(&[
            ("state", "string"),
            ("iteration", "integer"),
            ("blocking", "list of string"),
            ("items", "list of object"),
        ])
    },
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(default)]
    of: Option<String>,
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let asked: Arguments = read(arguments)?;
    value(&show_review(ctx, asked.of.as_deref())?)
}
