//! The tool `doc_change`.

use application::plan_documents::edit::{DocumentEdit, edit_document};
use application::{Context, Failure};
use serde::Deserialize;
use serde_json::{Value, json};

use super::document;
use crate::tools::arguments::{read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const DOC_CHANGE: Tool = Tool {
    name: "doc_change",
    description: "Use to change a plan document, all or nothing. Each change has `do`: add-decision, add-alternative, add-constraint, \
                  add-risk, add-milestone, add-intent, add-change, add-doc, set or remove (the last two with id and version); \
                  `as` names what it adds, \"@name\" refers to it.",
    set: Toolset::Plans,
    hints: Hints::CHANGES,
    input: |_| {
        let changes = json!({ "type": "array", "items": { "type": "object" } });
        schema::object(vec![("changes", changes, true), document()])
    },
    output: || schema::result(&[("document", "string"), ("changed", "list of object")]),
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    changes: Vec<Value>,
    #[serde(default)]
    document: Option<String>,
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let asked: Arguments = read(arguments)?;
    // The batch format of the command line, one JSON object per line: one parser for both.
    let lines: Vec<String> = asked.changes.iter().map(Value::to_string).collect();
    value(&edit_document(
        ctx,
        asked.document.as_deref(),
        &DocumentEdit::Batch(lines.join("\n")),
    )?)
}
