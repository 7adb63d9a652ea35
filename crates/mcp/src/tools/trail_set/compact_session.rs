//! The tool `compact_session`.

use application::sessions::compact_session::{CompactRequest, compact_session};
use application::{Context, Failure};
use serde::Deserialize;
use serde_json::Value;

use crate::tools::arguments::{read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const COMPACT_SESSION: Tool = Tool {
    name: "compact_session",
    description: "Use to end a session: distils turning points, archives its file and tree. Give `report` to say yourself what the next compaction keeps.",
    set: Toolset::Trail,
    // Archives the session's tree and file: the model loses what it does not put into the report.
    hints: Hints::DESTROYS,
    input: |_| {
        schema::object(vec![(
            "report",
            schema::text("what to keep; without it, by rule"),
            false,
        )])
    },
    output: || {
        schema::result(&[
            ("session", "string"),
            ("compaction_count", "integer"),
            ("next_compaction_report", "string"),
            ("archive", "string"),
        ])
    },
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(default)]
    report: Option<String>,
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let Arguments { report } = read(arguments)?;
    value(&compact_session(
        ctx,
        &CompactRequest {
            report,
            turning_points: None,
        },
    )?)
}
