//! The ready nodes of a project in order, as part of the stored summary of its plans.
//!
//! Only the first ones are listed. A node that becomes ready is inserted at its place, one that no
//! longer is is removed; when too few are left, the list is computed from the whole tree.

use std::collections::BTreeSet;

use domain::ids::NodeId;
use domain::needs::{Needs, Readiness};
use domain::next_work::ReadyOrder;
use domain::node::{Node, Progress};
use domain::profile::ApprovalNeed;
use domain::tree::Tree;
use serde::{Deserialize, Serialize};

use crate::context::Context;

/// Maximum number of listed nodes.
const MAX_LISTED_NODES: usize = 64;
/// Number of nodes that have to be left in a list that is not complete.
const MIN_LISTED_NODES: usize = 16;

/// The first ready nodes, and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReadyNodes {
    listed: Vec<(ReadyOrder, NodeId)>,
    pub(crate) total: usize,
    /// Nodes that need others or are needed: a change of one may make others ready.
    involved: BTreeSet<NodeId>,
    /// Ignored `needs` entries, each with the reason.
    pub(crate) problems: Vec<String>,
}

impl ReadyNodes {
    /// Lists the ready nodes of a whole tree.
    pub(crate) fn of_tree(ctx: &Context<'_>, tree: &Tree) -> Self {
        let needs = Needs::from_tree(tree, ctx.profiles);
        let waits_for_approval = |node: &Node| waits_for_approval(ctx, node);
        let readiness = Readiness {
            tree,
            needs: &needs,
            waits_for_approval: &waits_for_approval,
        };
        let is_plan = |node: &&Node| node.profile != domain::trail::PROFILE;
        let mut listed: Vec<(ReadyOrder, NodeId)> = tree
            .nodes()
            .filter(is_plan)
            .filter(|node| readiness.is_ready(node))
            .map(|node| (ReadyOrder::of_node(tree, node), node.id))
            .collect();
        let total = listed.len();
        if total > MAX_LISTED_NODES {
            // Selected before it is sorted: of ten thousand ready nodes only the first are ordered.
            listed.select_nth_unstable(MAX_LISTED_NODES);
            listed.truncate(MAX_LISTED_NODES);
        }
        listed.sort_unstable();
        Self {
            listed,
            total,
            involved: needs.involved_nodes(),
            problems: needs.problems.iter().map(ToString::to_string).collect(),
        }
    }

    /// Lists all ready nodes of a whole tree, in order.
    pub(crate) fn list_all(ctx: &Context<'_>, tree: &Tree) -> Vec<NodeId> {
        let needs = Needs::from_tree(tree, ctx.profiles);
        let ready =
            domain::needs::find_ready_nodes(tree, &needs, &|node| waits_for_approval(ctx, node));
        let is_plan = |node: &&Node| node.profile != domain::trail::PROFILE;
        let mut listed: Vec<(ReadyOrder, NodeId)> = ready
            .into_iter()
            .filter(is_plan)
            .map(|node| (ReadyOrder::of_node(tree, node), node.id))
            .collect();
        listed.sort_unstable();
        listed.into_iter().map(|(_, id)| id).collect()
    }

    /// Returns the listed nodes in order.
    pub(crate) fn listed_nodes(&self) -> impl Iterator<Item = NodeId> {
        self.listed.iter().map(|(_, id)| *id)
    }

    /// Whether every ready node is listed.
    pub(crate) fn is_complete(&self) -> bool {
        self.listed.len() == self.total
    }

    /// Brings the list up to date with nodes whose readiness may have changed. `before` and `after`
    /// have them with their children and ancestors. Returns whether that was possible.
    pub(crate) fn update_nodes(
        &mut self,
        ctx: &Context<'_>,
        before: &Tree,
        after: &Tree,
        judged: &BTreeSet<NodeId>,
    ) -> bool {
        let trees = [before, after];
        let judged = &with_begun_parts(before, after, judged);
        for id in judged {
            let states = trees.map(|tree| tree.get(*id));
            let names_others = states
                .iter()
                .flatten()
                .any(|node| !node.description.needs.is_empty());
            // What needs a node is known of the whole tree alone.
            if names_others || self.involved.contains(id) {
                return false;
            }
            // Dropping or deferring a node holds for everything below it.
            let [was, is] = states.map(|node| node.and_then(Node::disposition));
            let has_children = trees.iter().any(|tree| tree.children(*id).next().is_some());
            if was != is && has_children {
                return false;
            }
            // An entry that named nothing may name a new node.
            if !self.problems.is_empty() && states[0].is_none() {
                return false;
            }
        }
        let needs = Needs::default();
        let waits_for_approval = |node: &Node| waits_for_approval(ctx, node);
        let is_ready = |tree: &Tree, node: &Node| {
            let readiness = Readiness {
                tree,
                needs: &needs,
                waits_for_approval: &waits_for_approval,
            };
            node.profile != domain::trail::PROFILE && readiness.is_ready(node)
        };
        let mut changes: Vec<(NodeId, bool, Option<ReadyOrder>)> = Vec::new();
        for id in judged {
            // Whether it waits for what an ancestor needs cannot be told here.
            let waits = |tree: &Tree| {
                let above = tree.get(*id).map(|node| tree.ancestors(node));
                above.is_some_and(|above| above.iter().any(|one| self.involved.contains(&one.id)))
            };
            if trees.iter().any(|tree| waits(tree)) {
                return false;
            }
            let was_ready = before.get(*id).is_some_and(|node| is_ready(before, node));
            let order = after
                .get(*id)
                .filter(|node| is_ready(after, node))
                .map(|node| ReadyOrder::of_node(after, node));
            changes.push((*id, was_ready, order));
        }
        for (id, was_ready, order) in changes {
            if was_ready {
                self.total = self.total.saturating_sub(1);
                self.listed.retain(|(_, listed)| *listed != id);
            }
            if let Some(order) = order {
                self.insert_node(order, id);
            }
        }
        self.listed.len() >= self.total.min(MIN_LISTED_NODES)
    }

    fn insert_node(&mut self, order: ReadyOrder, id: NodeId) {
        let at = self.listed.partition_point(|(other, _)| *other < order);
        // Behind the end of a list that is not complete its place is unknown.
        if at < self.listed.len() || self.is_complete() {
            self.listed.insert(at, (order, id));
            self.listed.truncate(MAX_LISTED_NODES);
        }
        self.total += 1;
    }
}

/// Adds the parts of nodes that were begun or left: their places follow from it.
fn with_begun_parts(before: &Tree, after: &Tree, judged: &BTreeSet<NodeId>) -> BTreeSet<NodeId> {
    let is_active = |tree: &Tree, id: NodeId| {
        let node = tree.get(id);
        node.is_some_and(|node| node.progress == Progress::Active)
    };
    let turned = judged
        .iter()
        .filter(|id| is_active(before, **id) != is_active(after, **id));
    let parts = turned.flat_map(|id| after.children(*id));
    let parts = parts.filter(|part| part.path.is_none()).map(|part| part.id);
    judged.iter().copied().chain(parts).collect()
}

fn waits_for_approval(ctx: &Context<'_>, node: &Node) -> bool {
    let profile = ctx.find_profile(&node.profile);
    profile.is_none_or(|profile| profile.approval == ApprovalNeed::Required)
}
