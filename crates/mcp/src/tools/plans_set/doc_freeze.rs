//! The tool `doc_freeze`.

use application::plan_documents::freeze_plan::freeze_plan;
use application::{Context, Failure};
use serde_json::Value;

use super::{Document, document};
use crate::tools::arguments::{read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const DOC_FREEZE: Tool = Tool {
    name: "doc_freeze",
    description: "Use when a plan document is complete: nothing in it changes any more, and its milestones can be worked on.",
    set: Toolset::Plans,
    // Irreversible for the document: after it nothing can be edited.
    hints: Hints::DESTROYS,
    input: |_| schema::object(vec![document()]),
    output: || {
        schema::result(&[
            ("document", "string"),
            ("version_hash", "string"),
            ("waves", "list of object"),
        ])
    },
    run,
};

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let asked: Document = read(arguments)?;
    value(&freeze_plan(ctx, asked.document.as_deref())?)
}
