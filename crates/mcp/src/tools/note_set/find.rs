//! The tool `note_find`.

use application::sessions::recall_mems::{RecallRequest, recall_mems};
use application::{Context, Failure};
use domain::memory::Mem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// words
    query: String,
    /// only there
    #[serde(default)]
    shelf: Option<String>,
    #[serde(default)]
    #[schemars(range(min = 1, max = 50))]
    limit: Option<usize>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Found {
    mems: Vec<Mem>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<Found, Failure> {
    let request = RecallRequest {
        query: arguments.query,
        shelf: arguments.shelf,
        // Clamped although the schema has bounds: not every client validates arguments.
        limit: arguments.limit.unwrap_or(10).clamp(1, 50),
    };
    let mems = recall_mems(ctx, &request)?;
    Ok(Found { mems })
}
