//! The tool `note_remove`.

use application::sessions::notes::remove_note;
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
    AnyObject::new(&remove_note(ctx, &stamp)?)
}
