//! The tool `note_list`.

use application::sessions::notes::{NoteFilter, list_notes};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::AnyObject;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    #[serde(default)]
    pinned: bool,
    #[serde(default)]
    shelf: Option<String>,
}

pub(super) fn run(
    ctx: &Context<'_>,
    Arguments { pinned, shelf }: Arguments,
) -> Result<AnyObject, Failure> {
    AnyObject::list("notes", &list_notes(ctx, &NoteFilter { pinned, shelf })?)
}
