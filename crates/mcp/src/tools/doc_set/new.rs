//! The tool `doc_new`.

use application::plan_documents::create::{NewDocument, create_document};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    title: String,
}

pub(super) fn run(
    ctx: &Context<'_>,
    Arguments { title }: Arguments,
) -> Result<NewDocument, Failure> {
    // Returns the id, which later calls may leave out while the document is current.
    create_document(ctx, &title)
}
