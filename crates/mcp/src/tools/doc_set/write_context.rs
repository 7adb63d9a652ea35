//! The tool `doc_context`.

use application::plan_documents::write_context::{WrittenContext, write_context};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    context: Map<String, Value>,
    /// id; without it the current one
    #[serde(default)]
    document: Option<String>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<WrittenContext, Failure> {
    let context = Value::Object(arguments.context);
    write_context(ctx, arguments.document.as_deref(), &context)
}
