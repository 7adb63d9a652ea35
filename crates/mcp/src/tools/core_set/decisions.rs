//! The tools `work_decisions`, `work_decisions_restore` and `work_decisions_prune`.

use application::decisions::{list_decisions, prune_decisions, restore_decisions};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tools::arguments::{AnyObject, Nothing, node_words};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// alias or path; all without it
    #[serde(default)]
    node: Option<String>,
}

pub(super) fn run(ctx: &Context<'_>, Arguments { node }: Arguments) -> Result<AnyObject, Failure> {
    let words = node.as_deref().map(node_words).unwrap_or_default();
    AnyObject::list("decisions", &list_decisions(ctx, &words)?)
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Restored {
    /// Number of files that were written.
    restored: usize,
}

pub(super) fn restore(ctx: &Context<'_>, Nothing {}: Nothing) -> Result<Restored, Failure> {
    let restored = restore_decisions(ctx)?;
    Ok(Restored { restored })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PruneArguments {
    /// only list what would be removed
    #[serde(default)]
    dry_run: bool,
}

pub(super) fn prune(
    ctx: &Context<'_>,
    PruneArguments { dry_run }: PruneArguments,
) -> Result<AnyObject, Failure> {
    AnyObject::new(&prune_decisions(ctx, dry_run)?)
}
