//! The tool `doc_change`.

use application::plan_documents::edit::{DocumentEdit, EditOutcome, edit_document};
use application::{Context, Failure};
use domain::plan_document::PlanChange;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    // Any value is parsed, so that the use case says everything that is wrong with the changes.
    #[schemars(schema_with = "describe_changes")]
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

/// Describes the changes of a batch: those of a document, each with a name for what it adds.
fn describe_changes(generator: &mut SchemaGenerator) -> Schema {
    let mut change = PlanChange::json_schema(generator);
    let variants = change.get_mut("oneOf").and_then(Value::as_array_mut);
    for variant in variants.into_iter().flatten() {
        variant["properties"]["as"] = json!({ "type": "string" });
    }
    json_schema!({ "type": "array", "items": change })
}
