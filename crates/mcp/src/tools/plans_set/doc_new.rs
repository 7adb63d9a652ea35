//! The tool `doc_new`.

use application::plan_documents::create::{NewDocument, create_document};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct DocNew;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    title: String,
}

impl ToolDefinition for DocNew {
    const NAME: &'static str = "doc_new";
    const DESCRIPTION: &'static str = "Use to begin a plan document; it becomes the current one.";
    const SET: Toolset = Toolset::Plans;
    const HINTS: Hints = Hints::CHANGES;
    type Arguments = Arguments;
    type Outcome = NewDocument;

    fn run(ctx: &Context<'_>, Arguments { title }: Arguments) -> Result<NewDocument, Failure> {
        // Returns the id, which later calls may leave out while the document is current.
        create_document(ctx, &title)
    }
}
