//! The tool `note_add`.

use application::sessions::keep_mem::{MemRequest, keep_mem};
use application::{Context, Failure};
use domain::memory::Mem;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// the note
    text: String,
    /// a short name
    #[serde(default)]
    shelf: Option<String>,
}

pub(super) fn run(ctx: &Context<'_>, Arguments { text, shelf }: Arguments) -> Result<Mem, Failure> {
    // Without a shelf the use case chooses the default one, the same as on the command line.
    keep_mem(ctx, &MemRequest { text, shelf })
}
