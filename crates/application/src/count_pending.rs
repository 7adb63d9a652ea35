//! Number of decisions that wait for a person, and the branch they are on: what the frame of every
//! page shows.

use domain::node::Node;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::project_status::needs_decision;
use crate::reviews::status::list_escalated;
use crate::tree_cache::CachedTree;

/// The pending decisions of a working copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PendingDecisions {
    /// Plans that can be decided now, and findings of reviews that only a person can.
    pub count: usize,
    /// The checked-out branch; `None` without a repository or with a detached HEAD.
    pub branch: Option<String>,
}

/// Counts the pending decisions in a cached tree that is up to date: the same that `show_now` lists.
///
/// # Errors
/// When the state cannot be read.
pub fn count_pending_decisions(
    ctx: &Context<'_>,
    known: &CachedTree,
) -> Result<PendingDecisions, Failure> {
    let is_pending = |node: &&Node| {
        node.profile != domain::trail::PROFILE && needs_decision(ctx, &known.tree, node)
    };
    let nodes = known.order.iter().filter_map(|id| known.tree.get(*id));
    let plans = nodes.filter(is_pending).count();
    Ok(PendingDecisions {
        count: plans + list_escalated(ctx)?.len(),
        branch: ctx.git.current_branch(),
    })
}
