//! The tool `doc_change`.

use application::plan_documents::edit::{DocumentEdit, EditOutcome, edit_document};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    // Any value is parsed, so that the use case says which change is not an object.
    #[schemars(with = "Vec<Map<String, Value>>")]
    changes: Vec<Value>,
    /// id; without it the current one
    #[serde(default)]
    document: Option<String>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<EditOutcome, Failure> {
    // The batch format of the command line, one JSON object per line: one parser for both.
    let lines: Vec<String> = arguments.changes.iter().map(Value::to_string).collect();
    edit_document(
        ctx,
        arguments.document.as_deref(),
        &DocumentEdit::Batch(lines.join("\n")),
    )
}
