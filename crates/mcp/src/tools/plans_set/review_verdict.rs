//! The tool `review_verdict`.

use application::reviews::judge::{VerdictRequest, record_verdict};
use application::{Context, Failure};
use domain::review::CheckVerdict;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{of, one_of};
use crate::tools::arguments::{read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const REVIEW_VERDICT: Tool = Tool {
    name: "review_verdict",
    description: "Use as a reviewer to pass or fail a check; a failure names the place and what would be right.",
    set: Toolset::Plans,
    hints: Hints::CHANGES,
    input: |_| {
        schema::object(vec![
            ("item", schema::text("qa-001"), true),
            ("verdict", one_of(&["pass", "fail"]), true),
            ("finding", json!({ "type": "string" }), false),
            ("version", json!({ "type": "integer" }), false),
            ("cost", json!({ "type": "integer" }), false),
            of(),
        ])
    },
    output: || schema::result(&[("subject", "string"), ("item", "object")]),
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    item: String,
    verdict: Word,
    #[serde(default)]
    finding: String,
    #[serde(default)]
    version: Option<u64>,
    #[serde(default)]
    cost: u64,
    #[serde(default)]
    of: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    Pass,
    Fail,
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let asked: Arguments = read(arguments)?;
    // A finding is required for a failure only; the use case refuses an empty one.
    let verdict = match asked.verdict {
        Word::Pass => CheckVerdict::Pass,
        Word::Fail => CheckVerdict::Fail {
            finding: asked.finding,
        },
    };
    let Arguments {
        of,
        item,
        version,
        cost,
        ..
    } = asked;
    value(&record_verdict(
        ctx,
        &VerdictRequest {
            of,
            item,
            verdict,
            version,
            cost,
        },
    )?)
}
