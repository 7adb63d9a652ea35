//! Decisions about several plans before they are recorded: their facts, and the statuses that follow.
//!
//! Which decision is made about a plan is the caller's; this only lets a plan be decided on the
//! statuses that follow from the decisions above it.

use std::collections::{BTreeMap, HashMap};

use domain::fact::Fact;
use domain::ids::NodeId;
use domain::node::{Node, NodeStatus};
use domain::ports::Transaction;
use domain::time::Timestamp;
use domain::tree::Tree;

use crate::context::Context;
use crate::failure::Failure;
use crate::status_cascade::cascade_statuses;

/// Maximum number of plans named in an operation's summary.
const MAX_SUMMARY_NAMES: usize = 3;

/// Decisions that become one operation.
pub(crate) struct PendingDecisions<'d> {
    ctx: &'d Context<'d>,
    pub(crate) tree: &'d Tree,
    pub(crate) now: Timestamp,
    facts: Vec<Fact>,
    /// Statuses that follow from the decisions so far.
    statuses: HashMap<NodeId, NodeStatus>,
}

impl<'d> PendingDecisions<'d> {
    pub(crate) fn new(ctx: &'d Context<'d>, tree: &'d Tree, now: Timestamp) -> Self {
        Self {
            ctx,
            tree,
            now,
            facts: Vec::new(),
            statuses: HashMap::new(),
        }
    }

    /// Returns plans by their depth, those above before those below.
    pub(crate) fn group_by_depth(
        &self,
        plans: impl IntoIterator<Item = NodeId>,
    ) -> Vec<Vec<NodeId>> {
        let mut levels: BTreeMap<usize, Vec<NodeId>> = BTreeMap::new();
        for id in plans {
            if let Some(node) = self.tree.get(id) {
                let depth = self.tree.ancestors(node).len();
                levels.entry(depth).or_default().push(id);
            }
        }
        levels.into_values().collect()
    }

    /// Returns a node with the status that follows from the decisions so far.
    pub(crate) fn present_node(&self, id: NodeId) -> Option<Node> {
        let mut node = self.tree.get(id)?.clone();
        if let Some(status) = self.statuses.get(&id) {
            node.standing = status.clone();
        }
        Some(node)
    }

    pub(crate) fn present_parent(&self, node: &Node) -> Option<Node> {
        node.parent.and_then(|parent| self.present_node(parent))
    }

    /// Adds the facts of a decision. Statuses follow with [`Self::derive_statuses`].
    pub(crate) fn push_facts(&mut self, facts: Vec<Fact>) {
        self.facts.extend(facts);
    }

    /// Derives the statuses from the decisions so far, by the same rules as the final ones.
    pub(crate) fn derive_statuses(&mut self, tx: &dyn Transaction) -> Result<(), Failure> {
        if self.facts.is_empty() {
            return Ok(());
        }
        // On a copy: the statuses in between are for judging only, and the operation records the
        // final ones once.
        let mut facts = self.facts.clone();
        cascade_statuses(self.ctx, tx, &mut facts, &[], self.now, None)?;
        // The cascade appends, so everything after the decisions is its result.
        for fact in facts.into_iter().skip(self.facts.len()) {
            if let Fact::StandingsChanged { groups } = fact {
                for group in groups {
                    let statuses = group.nodes.iter().map(|id| (*id, group.after.clone()));
                    self.statuses.extend(statuses);
                }
            }
        }
        Ok(())
    }

    /// Returns all facts with the statuses that follow.
    pub(crate) fn into_facts(mut self, tx: &dyn Transaction) -> Result<Vec<Fact>, Failure> {
        cascade_statuses(self.ctx, tx, &mut self.facts, &[], self.now, None)?;
        Ok(self.facts)
    }

    /// Returns the paths of plans.
    pub(crate) fn list_paths(&self, plans: &[NodeId]) -> Vec<String> {
        let nodes = plans.iter().filter_map(|id| self.tree.get(*id));
        nodes.map(|node| self.tree.alias_path(node)).collect()
    }
}

/// Names the first plans of a list, for one line of the log.
pub(crate) fn name_first_plans(paths: &[String]) -> String {
    let named = paths.get(..MAX_SUMMARY_NAMES).unwrap_or(paths).join(", ");
    match paths.len().saturating_sub(MAX_SUMMARY_NAMES) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}
