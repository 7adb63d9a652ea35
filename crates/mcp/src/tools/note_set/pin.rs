//! The tool `note_pin`.

use application::sessions::notes::{pin_note, unpin_note};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::AnyObject;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    stamp: String,
    /// false unpins it
    #[serde(default = "default_pinned")]
    pinned: bool,
}

fn default_pinned() -> bool {
    true
}

pub(super) fn run(
    ctx: &Context<'_>,
    Arguments { stamp, pinned }: Arguments,
) -> Result<AnyObject, Failure> {
    let note = match pinned {
        true => pin_note(ctx, &stamp),
        false => unpin_note(ctx, &stamp),
    };
    AnyObject::new(&note?)
}
