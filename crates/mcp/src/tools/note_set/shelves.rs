//! The tool `note_shelves`.

use application::sessions::recall_mems::{ShelfView, list_shelves};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Serialize;

use crate::tools::arguments::Nothing;

// An object, because structured results must not be arrays.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Shelves {
    shelves: Vec<ShelfView>,
}

pub(super) fn run(ctx: &Context<'_>, Nothing {}: Nothing) -> Result<Shelves, Failure> {
    let shelves = list_shelves(ctx)?;
    Ok(Shelves { shelves })
}
