//! The tool `work_next`.

use application::first_steps::list_first_steps;
use application::next_work::{NextWork, list_next_work};
use application::project_status::load_project_status;
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
    // Where nothing is ready: what would make something ready.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    next_steps: Vec<String>,
}

pub(super) fn run(
    ctx: &Context<'_>,
    Arguments { limit }: Arguments,
) -> Result<LimitedWork, Failure> {
    // Clamped although the schema has bounds: not every client validates arguments.
    let work = list_next_work(ctx, limit.clamp(1, 100))?;
    let more = work.total.saturating_sub(work.ready.len());
    let next_steps = match work.ready.is_empty() {
        true => steps_without_work(ctx)?,
        false => Vec::new(),
    };
    Ok(LimitedWork {
        work,
        more,
        next_steps,
    })
}

/// Maximum number of decisions named where nothing is ready.
const MAX_DECISIONS: usize = 3;

/// Returns the first steps of the project, and the decisions that work waits for.
fn steps_without_work(ctx: &Context<'_>) -> Result<Vec<String>, Failure> {
    let status = load_project_status(ctx)?;
    let mut steps = list_first_steps(ctx, &status)?;
    let waiting = status.attention.into_iter().take(MAX_DECISIONS);
    steps.extend(waiting.map(|one| one.next_step));
    Ok(steps)
}
