//! The tool `story_memory`.

use application::memory::show_memory::{show_entry, show_memory};
use application::{Context, Failure};
use domain::memory::EntryKind;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::AnyObject;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// a kind (characters), an id (C0) or a name
    #[serde(default)]
    entry: Option<String>,
}

pub(super) fn run(ctx: &Context<'_>, Arguments { entry }: Arguments) -> Result<AnyObject, Failure> {
    let Some(entry) = entry else {
        return AnyObject::new(&show_memory(ctx, None)?);
    };
    match EntryKind::from_word(&entry) {
        Some(kind) => AnyObject::new(&show_memory(ctx, Some(kind))?),
        None => AnyObject::new(&show_entry(ctx, &entry)?),
    }
}
