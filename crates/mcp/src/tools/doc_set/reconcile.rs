//! The tool `doc_reconcile`.

use application::plan_documents::reconcile::reconcile_plan;
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::AnyObject;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// id; without it the current one
    #[serde(default)]
    document: Option<String>,
    /// commit to compare with; without it the one of the freeze
    #[serde(default)]
    since: Option<String>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<AnyObject, Failure> {
    let report = reconcile_plan(
        ctx,
        arguments.document.as_deref(),
        arguments.since.as_deref(),
    );
    AnyObject::new(&report?)
}
