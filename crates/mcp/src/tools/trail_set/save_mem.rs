//! The tool `save_mem`.

use application::sessions::keep_mem::{MemRequest, MemView, keep_mem};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct SaveMem;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// the note
    text: String,
    /// a short name
    #[serde(default)]
    shelf: Option<String>,
}

impl ToolDefinition for SaveMem {
    const NAME: &'static str = "save_mem";
    const DESCRIPTION: &'static str =
        "Use to keep something worth finding again: a note on a shelf.";
    const SET: Toolset = Toolset::Trail;
    const HINTS: Hints = Hints::CHANGES;
    type Arguments = Arguments;
    type Outcome = MemView;

    fn run(ctx: &Context<'_>, Arguments { text, shelf }: Arguments) -> Result<MemView, Failure> {
        // Without a shelf the use case chooses the default one, the same as on the command line.
        keep_mem(ctx, &MemRequest { text, shelf })
    }
}
