//! The tool `self_rate`.

use application::sessions::self_rate::{RateRequest, self_rate};
use application::{Context, Failure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::arguments::{read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const SELF_RATE: Tool = Tool {
    name: "self_rate",
    description: "Use at a checkpoint: rate your own work, 1 (lost) to 10 (as planned).",
    set: Toolset::Trail,
    hints: Hints::CHANGES,
    input: |_| {
        schema::object(vec![
            (
                "score",
                json!({ "type": "integer", "minimum": 1, "maximum": 10 }),
                true,
            ),
            ("reason", schema::text("why"), false),
        ])
    },
    output: || {
        schema::result(&[
            ("session", "string"),
            ("score", "integer"),
            ("average", "number"),
        ])
    },
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    score: u8,
    #[serde(default)]
    reason: Option<String>,
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let Arguments { score, reason } = read(arguments)?;
    value(&self_rate(
        ctx,
        &RateRequest {
            score,
            note: reason,
        },
    )?)
}
