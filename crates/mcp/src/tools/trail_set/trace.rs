//! The tool `trail_trace`.

use application::sessions::trace_stamp::trace_stamp;
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::AnyObject;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    stamp: String,
}

pub(super) fn run(ctx: &Context<'_>, Arguments { stamp }: Arguments) -> Result<AnyObject, Failure> {
    AnyObject::new(&trace_stamp(ctx, &stamp)?)
}
