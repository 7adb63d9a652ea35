//! The tool `doc_validate`.

use application::plan_documents::validate::validate_plan;
use application::{Context, Failure};
use serde_json::Value;

use super::{Document, document};
use crate::tools::arguments::{read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const DOC_VALIDATE: Tool = Tool {
    name: "doc_validate",
    description: "Use to see what is wrong, missing or worth a look in a plan document, with JSON pointers.",
    set: Toolset::Plans,
    // Read-only: unlike the command line it cannot accept a document.
    hints: Hints::READS,
    input: |_| schema::object(vec![document()]),
    output: || {
        schema::result(&[
            ("ok", "boolean"),
            ("complete", "boolean"),
            ("problems", "list of object"),
        ])
    },
    run,
};

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let asked: Document = read(arguments)?;
    value(&validate_plan(ctx, asked.document.as_deref())?)
}
