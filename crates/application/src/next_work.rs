//! Ready queue: the nodes that can be worked on now.
//!
//! Nodes claimed by other sessions are left out; readiness itself is a rule of `domain::needs`.

use domain::ids::NodeId;
use domain::needs::{Needs, ready};
use domain::node::{Node, Progress};
use domain::ports::Snapshot;
use domain::profile::{ApprovalNeed, Profile};
use domain::tree::Tree;
use serde::Serialize;

use crate::claim_node;
use crate::context::Context;
use crate::failure::Failure;
use crate::observe::observed_tree;

/// The ready queue.
#[derive(Clone, Debug, Serialize)]
pub struct NextWork {
    pub ready: Vec<ReadyView>,
    /// Ignored `needs` entries, each with the reason.
    pub problems: Vec<String>,
}

/// A node that can be worked on now.
#[derive(Clone, Debug, Serialize)]
pub struct ReadyView {
    pub entity_id: String,
    pub entity_type: String,
    pub path: String,
    pub title: Option<String>,
    pub progress: Progress,
    /// The next command.
    pub action: String,
}

/// Returns the ready nodes in tree order.
///
/// # Errors
/// When the state cannot be read.
pub fn next_work(ctx: &Context<'_>) -> Result<NextWork, Failure> {
    let (state, tree) = observed_tree(ctx)?;
    ready_in(ctx, &*state, &tree)
}

/// Returns the ready nodes of a tree.
pub(crate) fn ready_in(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
) -> Result<NextWork, Failure> {
    let needs = Needs::of(tree, ctx.profiles);
    // The session's own claims stay in the queue: it claimed them to work on them.
    let held: Vec<NodeId> = claim_node::holding(ctx, state)?
        .into_iter()
        .filter(|(_, claim)| claim.session != ctx.session)
        .map(|(id, _)| id)
        .collect();
    // A claim covers the nodes below it.
    let is_free = |node: &&Node| {
        !held.contains(&node.id)
            && !tree
                .ancestors(node)
                .iter()
                .any(|above| held.contains(&above.id))
    };
    let waits_for_approval = |node: &Node| {
        ctx.profile(&node.profile)
            .is_none_or(|profile| profile.approval == ApprovalNeed::Required)
    };
    let ready = ready(tree, &needs, &waits_for_approval)
        .into_iter()
        .filter(is_free)
        .map(|node| ReadyView {
            entity_id: node.alias.clone(),
            entity_type: node.level.clone(),
            path: tree.path(node),
            title: node.description.title.clone(),
            progress: node.progress,
            action: action(ctx.profile(&node.profile), tree, node),
        })
        .collect();
    Ok(NextWork {
        ready,
        problems: needs.problems.iter().map(ToString::to_string).collect(),
    })
}

/// Returns the next command: a node with plannable levels below it is planned further, one at the
/// bottom is carried out.
fn action(profile: Option<&Profile>, tree: &Tree, node: &Node) -> String {
    let below = profile.and_then(|profile| {
        profile
            .levels_under(&node.level)
            .find(|level| level.file.is_some() && !level.root)
    });
    let path = tree.path(node);
    let has_children = tree.children(node.id).next().is_some();
    match below {
        Some(level) if !has_children => {
            // The command names the first child, ready to paste; without a number pattern the
            // person has to choose a name.
            let number = u32::try_from(node.order).ok();
            let id = level
                .alias
                .numbered(1, number)
                .unwrap_or_else(|| "NAME".to_owned());
            format!("tl plan {} {id} --under {path}", level.name)
        }
        Some(_) => format!("tl progress {path} complete"),
        None if profile.is_some_and(|profile| !profile.work_phases.is_empty()) => {
            format!("tl focus enter {path}")
        }
        None => format!("carry it out, then: tl progress {path} complete"),
    }
}
