//! Ready queue: the nodes that can be worked on now.
//!
//! Nodes claimed by other sessions are left out; readiness itself is a rule of `domain::needs`.

use domain::needs::{Needs, find_ready_nodes};
use domain::node::{Node, Progress};
use domain::ports::{NodeKey, Snapshot};
use domain::profile::{ApprovalNeed, Profile};
use domain::tree::Tree;
use schemars::JsonSchema;
use serde::Serialize;

use crate::claim_node;
use crate::context::Context;
use crate::failure::Failure;
use crate::observe::observe_tree;

/// The ready queue.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NextWork {
    pub ready: Vec<ReadyView>,
    /// Ignored `needs` entries, each with the reason.
    pub problems: Vec<String>,
}

/// A node that can be worked on now.
#[derive(Clone, Debug, Serialize, JsonSchema)]
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
pub fn list_next_work(ctx: &Context<'_>) -> Result<NextWork, Failure> {
    let (state, tree) = observe_tree(ctx)?;
    list_ready(ctx, &*state, &tree)
}

/// Returns the ready nodes of a tree.
pub(crate) fn list_ready(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
) -> Result<NextWork, Failure> {
    let needs = Needs::from_tree(tree, ctx.profiles);
    // The session's own claims stay in the queue: it claimed them to work on them.
    let mut held = claim_node::list_active_claims(ctx, state)?;
    held.retain(|one| !one.is_held_by(&ctx.session));
    // A claim covers the nodes below it.
    let is_free = |node: &&Node| {
        if held.is_empty() {
            return true;
        }
        let key = NodeKey {
            profile: node.profile.clone(),
            path: tree.alias_path(node),
        };
        !held.iter().any(|one| one.node.covers(&key))
    };
    let waits_for_approval = |node: &Node| {
        ctx.find_profile(&node.profile)
            .is_none_or(|profile| profile.approval == ApprovalNeed::Required)
    };
    let ready = find_ready_nodes(tree, &needs, &waits_for_approval)
        .into_iter()
        .filter(is_free)
        .map(|node| ReadyView {
            entity_id: node.alias.clone(),
            entity_type: node.level.clone(),
            path: tree.alias_path(node),
            title: node.description.title.clone(),
            progress: node.progress,
            action: next_action(ctx.find_profile(&node.profile), tree, node),
        })
        .collect();
    Ok(NextWork {
        ready,
        problems: needs.problems.iter().map(ToString::to_string).collect(),
    })
}

/// Returns the next command: a node with plannable levels below it is planned further, one at the
/// bottom is carried out.
fn next_action(profile: Option<&Profile>, tree: &Tree, node: &Node) -> String {
    let below = profile.and_then(|profile| {
        profile
            .levels_under(&node.level)
            .find(|level| level.file.is_some() && !level.is_flat())
    });
    let path = tree.alias_path(node);
    let has_children = tree.children(node.id).next().is_some();
    match below {
        Some(level) if !has_children => {
            // The command names the first child, ready to paste; without a number pattern the
            // person has to choose a name.
            let above = profile.and_then(|profile| profile.find_level(&node.level));
            let number = above.and_then(|above| above.number_of(&node.alias));
            let id = level
                .alias
                .format_below(1, &node.alias, number)
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
