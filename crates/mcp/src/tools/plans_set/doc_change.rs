//! The tool `doc_change`.

use application::plan_documents::edit::{DocumentEdit, EditOutcome, edit_document};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct DocChange;

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

impl ToolDefinition for DocChange {
    const NAME: &'static str = "doc_change";
    const DESCRIPTION: &'static str = "Use to change a plan document, all or nothing. Each change has `do`: add-decision, add-alternative, add-constraint, \
                  add-risk, add-milestone, add-intent, add-change, add-doc, set or remove (the last two with id and version); \
                  `as` names what it adds, \"@name\" refers to it.";
    const SET: Toolset = Toolset::Plans;
    const HINTS: Hints = Hints::CHANGES;
    type Arguments = Arguments;
    type Outcome = EditOutcome;

    fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<EditOutcome, Failure> {
        // The batch format of the command line, one JSON object per line: one parser for both.
        let lines: Vec<String> = arguments.changes.iter().map(Value::to_string).collect();
        edit_document(
            ctx,
            arguments.document.as_deref(),
            &DocumentEdit::Batch(lines.join("\n")),
        )
    }
}
