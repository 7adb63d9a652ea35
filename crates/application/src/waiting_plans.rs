//! The plans that wait for a decision, as part of the stored summary: the first of them in order, and
//! how many there are.
//!
//! A plan that begins to wait is inserted at its place, one that is decided is removed; when too few
//! are left, the list is computed from the whole tree.

use domain::ids::NodeId;
use domain::node::Node;
use domain::tree::Tree;
use domain::tree_place::TreePlace;
use serde::{Deserialize, Serialize};

use crate::project_status::Attention;

/// Maximum number of listed plans. More than a command names, because decided ones leave the list.
const MAX_LISTED_PLANS: usize = 48;
/// Number of plans that have to be left in a list that is not complete: as many as a command names.
pub(crate) const MIN_LISTED_PLANS: usize = 20;

/// Plans that wait for a decision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WaitingPlans {
    /// The first of them in order: rank, place, id.
    listed: Vec<(u8, TreePlace, NodeId)>,
    pub(crate) total: usize,
}

impl WaitingPlans {
    /// Adds a node of a tree that has its ancestors, the most urgent status first.
    pub(crate) fn add_waiting(&mut self, tree: &Tree, node: &Node) {
        self.insert_at_rank(Attention::rank_of_status(node.status()), tree, node);
    }

    /// Adds a node of a tree that has its ancestors, in the order of the tree alone.
    pub(crate) fn add_in_tree_order(&mut self, tree: &Tree, node: &Node) {
        self.insert_at_rank(0, tree, node);
    }

    fn insert_at_rank(&mut self, rank: u8, tree: &Tree, node: &Node) {
        let is_complete = self.is_complete();
        self.total += 1;
        // Most nodes of a large tree come after the last listed one, and their place is not needed.
        if !is_complete && self.listed.last().is_some_and(|(last, ..)| *last < rank) {
            return;
        }
        let entry = (rank, TreePlace::of_node(tree, node), node.id);
        let at = self.listed.partition_point(|other| *other < entry);
        // Behind the end of a list that is not complete its place is unknown.
        if at < self.listed.len() || is_complete {
            self.listed.insert(at, entry);
            self.listed.truncate(MAX_LISTED_PLANS);
        }
    }

    pub(crate) fn remove_waiting(&mut self, id: NodeId) {
        self.total = self.total.saturating_sub(1);
        self.listed.retain(|(.., listed)| *listed != id);
    }

    /// Returns the listed plans in order.
    pub(crate) fn listed_nodes(&self) -> impl Iterator<Item = NodeId> {
        self.listed.iter().map(|(.., id)| *id)
    }

    /// Whether all of them are listed.
    pub(crate) fn is_complete(&self) -> bool {
        self.listed.len() == self.total
    }

    /// Whether the first `most` of them are listed.
    pub(crate) fn lists_first(&self, most: usize) -> bool {
        self.listed.len() >= self.total.min(most)
    }

    /// Whether too few are listed to name those that a command names.
    pub(crate) fn is_exhausted(&self) -> bool {
        !self.lists_first(MIN_LISTED_PLANS)
    }
}
