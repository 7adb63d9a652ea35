//! The tool `story_memory_search`.

use application::memory::search_memory::{SearchMemoryRequest, search_memory};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::AnyObject;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// words
    query: String,
    #[serde(default)]
    #[schemars(range(min = 1, max = 50))]
    limit: Option<usize>,
}

pub(super) fn run(
    ctx: &Context<'_>,
    Arguments { query, limit }: Arguments,
) -> Result<AnyObject, Failure> {
    let request = SearchMemoryRequest {
        query,
        // Clamped although the schema has bounds: not every client validates arguments.
        limit: limit.unwrap_or(10).clamp(1, 50),
        ..SearchMemoryRequest::default()
    };
    AnyObject::list("entries", &search_memory(ctx, &request)?)
}
