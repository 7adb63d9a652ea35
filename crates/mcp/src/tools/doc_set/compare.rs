//! The tool `doc_diff`.

use application::plan_documents::compare::compare_documents;
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::AnyObject;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// the previous revision without it
    #[serde(default)]
    older: Option<String>,
    /// the current one without it
    #[serde(default)]
    newer: Option<String>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<AnyObject, Failure> {
    let compared = compare_documents(ctx, arguments.older.as_deref(), arguments.newer.as_deref());
    AnyObject::new(&compared?)
}
