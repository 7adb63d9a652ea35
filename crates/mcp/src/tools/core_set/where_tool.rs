//! The tool `work_where`.

use application::project_status::{ProjectStatus, load_project_status};
use application::where_am_i::{GateView, StackItem, where_if_focused};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Serialize;

use super::next::list_steps;
use crate::tools::arguments::Nothing;

#[derive(Serialize, JsonSchema)]
pub(crate) struct Position {
    #[serde(flatten)]
    status: ProjectStatus,
    // Counted, because a silent cut looks like a complete list.
    more_attention: usize,
    // Only with a focus: a project without tickets has no position to report.
    #[serde(skip_serializing_if = "Option::is_none")]
    focus: Option<Focus>,
    // How the work of a profile begins that has nothing yet, and what work waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    next_steps: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct Focus {
    line: String,
    stack: Vec<StackItem>,
    gate: Option<GateView>,
}

/// Maximum number of listed plans that need attention; the rest is counted.
const MAX_LISTED_NODES: usize = 20;

pub(super) fn run(ctx: &Context<'_>, Nothing {}: Nothing) -> Result<Position, Failure> {
    let mut status = load_project_status(ctx)?;
    let next_steps = list_steps(ctx, &status)?;
    let more_attention = status.attention.len().saturating_sub(MAX_LISTED_NODES);
    status.attention.truncate(MAX_LISTED_NODES);
    let focus = where_if_focused(ctx)?.map(|place| Focus {
        line: place.line,
        stack: place.stack,
        gate: place.gate,
    });
    Ok(Position {
        status,
        more_attention,
        focus,
        next_steps,
    })
}
