//! The tool `plan_stats`.

use application::plan_stats::{StatsRequest, plan_stats};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::{AnyObject, node_words};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// alias or path; all without it
    #[serde(default)]
    node: Option<String>,
    /// of the burn-up
    #[serde(default = "default_days")]
    #[schemars(range(min = 1, max = 3660))]
    days: usize,
}

fn default_days() -> usize {
    30
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<AnyObject, Failure> {
    let request = StatsRequest {
        node: arguments
            .node
            .as_deref()
            .map(node_words)
            .unwrap_or_default(),
        // Clamped although the schema has bounds: not every client validates arguments.
        days: arguments.days.clamp(1, 3660),
    };
    AnyObject::new(&plan_stats(ctx, &request)?)
}
