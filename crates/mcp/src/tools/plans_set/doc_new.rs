//! The tool `doc_new`.

use application::plan_documents::create::create_document;
use application::{Context, Failure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::arguments::{read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const DOC_NEW: Tool = Tool {
    name: "doc_new",
    description: "Use to begin a plan document; it becomes the current one.",
    set: Toolset::Plans,
    hints: Hints::CHANGES,
    input: |_| schema::object(vec![("title", json!({ "type": "string" }), true)]),
    output: || {
        schema::result(&[
            ("document", "string"),
            ("plan_id", "string"),
            ("file_path", "string"),
        ])
    },
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    title: String,
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let asked: Arguments = read(arguments)?;
    // Returns the id, which later calls may leave out while the document is current.
    value(&create_document(ctx, &asked.title)?)
}
