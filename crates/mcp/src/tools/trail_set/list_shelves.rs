//! The tool `list_shelves`.

use application::sessions::recall_mems::{ShelfView, list_shelves};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Serialize;

use crate::tools::arguments::Nothing;
use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct ListShelves;

// An object, because structured results must not be arrays.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Shelves {
    shelves: Vec<ShelfView>,
}

impl ToolDefinition for ListShelves {
    const NAME: &'static str = "list_shelves";
    const DESCRIPTION: &'static str = "Use to see which shelves hold notes, and how many.";
    const SET: Toolset = Toolset::Trail;
    const HINTS: Hints = Hints::READS;
    type Arguments = Nothing;
    type Outcome = Shelves;

    fn run(ctx: &Context<'_>, Nothing {}: Nothing) -> Result<Shelves, Failure> {
        let shelves = list_shelves(ctx)?;
        Ok(Shelves { shelves })
    }
}
