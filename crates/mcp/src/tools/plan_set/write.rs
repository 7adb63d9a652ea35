//! The tool `plan_write`.

use application::write_plan::{WriteOutcome, WriteRequest, write_plan};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::shown;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// alias or path, also of a new plan: {example}
    node: String,
    text: String,
    /// replace only the text below this heading
    #[serde(default)]
    section: Option<String>,
    /// version_hash you read; none for a new plan
    #[serde(default)]
    expected_version: Option<String>,
    // Where aliases are names, the alias does not tell the level.
    #[serde(default)]
    level: Option<String>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<WriteOutcome, Failure> {
    write_plan(
        ctx,
        &WriteRequest {
            expected: shown(arguments.expected_version.as_deref())?,
            node: arguments.node,
            level: arguments.level,
            text: arguments.text,
            section: arguments.section,
        },
    )
}
