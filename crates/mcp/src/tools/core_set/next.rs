//! The tool `work_next`.

use application::first_steps::list_first_steps;
use application::next_work::{NextWork, list_next_work};
use application::project_status::{ProjectStatus, load_project_status};
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
        true => list_steps(ctx, &load_project_status(ctx)?)?,
        false => Vec::new(),
    };
    Ok(LimitedWork {
        work,
        more,
        next_steps,
    })
}

/// Maximum number of plans whose next step is named.
const MAX_PLANS: usize = 3;

/// Returns the first steps of the project, and those of the plans that work waits for.
pub(super) fn list_steps(
    ctx: &Context<'_>,
    status: &ProjectStatus,
) -> Result<Vec<String>, Failure> {
    let mut steps = list_first_steps(ctx, status)?;
    let returned = status.changes_requested.iter();
    let returned = returned.map(|plan| format!("tl why {}   # what is to change", plan.path));
    let waiting = status.attention.iter().map(|one| one.next_step.clone());
    steps.extend(returned.chain(waiting).take(MAX_PLANS));
    Ok(steps)
}
