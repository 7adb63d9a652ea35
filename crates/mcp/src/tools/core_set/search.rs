//! The tool `work_search`.

use application::search::{SearchOutcome, SearchRequest, search_project};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// words; kind:plan,prose,comment,note,memory,log status:draft,stale under:NODE narrow it down
    query: String,
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 50))]
    limit: usize,
}

fn default_limit() -> usize {
    10
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<SearchOutcome, Failure> {
    search_project(
        ctx,
        &SearchRequest {
            query: arguments.query,
            // Clamped although the schema has bounds: not every client validates arguments.
            limit: arguments.limit.clamp(1, 50),
        },
    )
}
