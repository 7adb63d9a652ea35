//! Whether approval matters for a node: what is said of drafts and of revalidation depends on it.

use domain::approval;
use domain::ids::NodeId;
use domain::node::{Node, Status};
use domain::ports::{Snapshot, StoreFault};
use domain::profile::ApprovalNeed;

use crate::context::Context;

/// Whether the profile asks for the approval of a node, or a person approved it all the same.
///
/// A level without files has nothing to approve by itself: a trail is kept by commands, and the
/// milestones of a plan document are approved by freezing it.
pub(crate) fn asks_for_approval(ctx: &Context<'_>, node: &Node) -> bool {
    node.approval.is_some()
        || ctx.find_profile(&node.profile).is_none_or(|profile| {
            let level = profile.find_level(&node.level);
            profile.approval == ApprovalNeed::Required
                && level.is_none_or(|level| level.file.is_some())
        })
}

/// Returns the plan above a node that has to be decided first: the uppermost that is not approved.
/// `ancestors` begin with the parent.
pub(crate) fn find_undecided_above<'n>(
    ctx: &Context<'_>,
    ancestors: impl IntoIterator<Item = &'n Node>,
) -> Option<&'n Node> {
    let is_undecided =
        |node: &&Node| node.status() != Status::Approved && asks_for_approval(ctx, node);
    ancestors.into_iter().filter(is_undecided).last()
}

/// Returns the next step towards the approval of a plan, worded for the caller.
pub(crate) fn decision_next_step(ctx: &Context<'_>, path: &str, status: Status) -> String {
    let may_decide = ctx.policy.approval.accepts_approval_by(&ctx.actor);
    approval::decision_next_step(path, status, may_decide)
}

/// Returns the number of nodes for which approval matters.
pub(crate) fn count_asking_nodes(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    nodes: impl Iterator<Item = NodeId>,
) -> Result<usize, StoreFault> {
    // Nearly every project has one rule for all; then no node is loaded.
    let asks_always = |need: &domain::profile::Profile| {
        need.approval == ApprovalNeed::Required
            && need.levels.iter().all(|level| level.file.is_some())
    };
    if ctx.profiles.iter().all(asks_always) {
        return Ok(nodes.count());
    }
    let mut count = 0;
    for id in nodes {
        let node = state.load_node(id)?;
        count += usize::from(node.is_none_or(|node| asks_for_approval(ctx, &node)));
    }
    Ok(count)
}
