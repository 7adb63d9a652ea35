//! The tool `flow_status`.

use application::workflows::status::list_runs;
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::AnyObject;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// only on this one, with those that ended
    #[serde(default)]
    subject: Option<String>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<AnyObject, Failure> {
    AnyObject::list("runs", &list_runs(ctx, arguments.subject.as_deref())?)
}
