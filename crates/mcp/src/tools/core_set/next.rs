//! The tool `next`.

use application::next_work::{NextWork, list_next_work};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100))]
    limit: usize,
}

fn default_limit() -> usize {
    10
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct LimitedWork {
    #[serde(flatten)]
    work: NextWork,
    more: usize,
}

pub(super) fn run(
    ctx: &Context<'_>,
    Arguments { limit }: Arguments,
) -> Result<LimitedWork, Failure> {
    let mut work = list_next_work(ctx)?;
    // Clamped although the schema has bounds: not every client validates arguments.
    let limit = limit.clamp(1, 100);
    // The use case returns all of it; a model gets a part, and the number of the rest.
    let more = work.ready.len().saturating_sub(limit);
    work.ready.truncate(limit);
    Ok(LimitedWork { work, more })
}
