//! Keeps many stale plans as one operation.
//!
//! Decided level by level, each on the statuses that follow from the decisions above it: a plan that
//! is approved again with its parent needs no decision of its own. One refused plan does not stop
//! the others; they are independent decisions.

use std::collections::{BTreeMap, HashMap, HashSet};

use domain::approval::{ApprovalRequest, Force, decide_approval};
use domain::fact::Fact;
use domain::ids::NodeId;
use domain::node::{Node, NodeStatus, Status};
use domain::ports::Transaction;
use domain::revalidation::keep_stale_node;
use domain::time::Timestamp;
use domain::tree::Tree;

use crate::approve::{collect_warnings, refuse_unavailable};
use crate::context::Context;
use crate::duplicate_ids::refuse_duplicate;
use crate::failure::Failure;
use crate::precise_cascade::digest_relied_sections;
use crate::record_policy::resolve_deciding_policy;
use crate::revalidate::{RefusedView, ShownVersions};
use crate::status_cascade::cascade_statuses;
use crate::transitions::collect_transitions;
use crate::views::TransitionView;
use crate::working_copy::find_differing_nodes;

/// Maximum number of plans named in an operation's summary.
const MAX_SUMMARY_NAMES: usize = 3;

/// Decisions to keep plans that become one operation.
pub(crate) struct KeptPlans<'d> {
    ctx: &'d Context<'d>,
    tree: &'d Tree,
    force: Force,
    shown: Option<&'d ShownVersions>,
    now: Timestamp,
    facts: Vec<Fact>,
    /// In the order in which they were decided.
    pub(crate) kept: Vec<NodeId>,
    pub(crate) refused: Vec<RefusedView>,
    /// Statuses that follow from the decisions so far.
    statuses: HashMap<NodeId, NodeStatus>,
}

impl<'d> KeptPlans<'d> {
    pub(crate) fn new(
        ctx: &'d Context<'d>,
        tree: &'d Tree,
        force: Force,
        shown: Option<&'d ShownVersions>,
        now: Timestamp,
    ) -> Self {
        Self {
            ctx,
            tree,
            force,
            shown,
            now,
            facts: Vec::new(),
            kept: Vec::new(),
            refused: Vec::new(),
            statuses: HashMap::new(),
        }
    }

    /// Decides on plans, those of one depth after those above them.
    pub(crate) fn decide_by_level(
        &mut self,
        tx: &dyn Transaction,
        plans: &[NodeId],
    ) -> Result<(), Failure> {
        let differing = find_differing_nodes(self.ctx, tx)?;
        let mut levels: BTreeMap<usize, Vec<NodeId>> = BTreeMap::new();
        for id in plans {
            if let Some(node) = self.tree.get(*id) {
                let depth = self.tree.ancestors(node).len();
                levels.entry(depth).or_default().push(*id);
            }
        }
        for level in levels.into_values() {
            self.derive_statuses(tx)?;
            for id in level {
                let Some(node) = self
                    .present_node(id)
                    .filter(|node| node.status() == Status::RequiresRevalidation)
                else {
                    continue;
                };
                let path = self.tree.alias_path(&node);
                let decided = match differing.get(&id) {
                    // Nobody who has another text here has seen the one that would be kept.
                    Some(kind) => Err(Failure::refused(format!(
                        "your copy of it is {}",
                        kind.as_str()
                    ))),
                    None => self.decide_plan(tx, &node, &path),
                };
                match decided {
                    Ok(facts) => {
                        self.facts.extend(facts);
                        self.kept.push(id);
                    }
                    Err(failure) if failure.is_rejection() => self.refused.push(RefusedView {
                        path,
                        reason: failure.message,
                    }),
                    Err(failure) => return Err(failure),
                }
            }
        }
        Ok(())
    }

    /// Returns a node with the status that follows from the decisions so far.
    fn present_node(&self, id: NodeId) -> Option<Node> {
        let mut node = self.tree.get(id)?.clone();
        if let Some(status) = self.statuses.get(&id) {
            node.standing = status.clone();
        }
        Some(node)
    }

    fn decide_plan(
        &self,
        tx: &dyn Transaction,
        node: &Node,
        path: &str,
    ) -> Result<Vec<Fact>, Failure> {
        let ctx = self.ctx;
        let parent = node.parent.and_then(|parent| self.present_node(parent));
        refuse_unavailable(ctx, node)?;
        refuse_duplicate(ctx, tx, node)?;
        let shown = match self.shown.map(|shown| shown.get(path)) {
            Some(None) => {
                return Err(Failure::refused("it became stale after the list was shown"));
            }
            Some(Some(shown)) => Some(shown),
            None => None,
        };
        // Before the rules of keeping: a person who was shown another version is told that first.
        if let Some(shown) = shown {
            shown.check_current(node, parent.as_ref())?;
        }
        // Not returned at once: a refusal matters only if there is an approval to renew.
        let approval = decide_approval(
            ApprovalRequest {
                node,
                parent: parent.as_ref(),
                by: &ctx.actor,
                now: self.now,
                force: self.force,
                shown,
                warnings: collect_warnings(ctx, tx, node, parent.as_ref())?,
                relied_sections: digest_relied_sections(ctx, tx, node, parent.as_ref())?,
            },
            &resolve_deciding_policy(ctx, tx)?,
        );
        Ok(keep_stale_node(node, parent.as_ref(), approval)?)
    }

    /// Derives the statuses from the decisions so far, by the same rules as the final ones.
    fn derive_statuses(&mut self, tx: &dyn Transaction) -> Result<(), Failure> {
        if self.facts.is_empty() {
            return Ok(());
        }
        let mut facts = self.facts.clone();
        cascade_statuses(self.ctx, tx, &mut facts, &[], self.now, None)?;
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

    /// Returns one line for the log.
    pub(crate) fn render_summary(&self) -> String {
        let paths: Vec<String> = self
            .kept
            .iter()
            .filter_map(|id| self.tree.get(*id))
            .map(|node| self.tree.alias_path(node))
            .collect();
        let named = paths.iter().take(MAX_SUMMARY_NAMES).cloned();
        let named: Vec<String> = named.collect();
        match paths.as_slice() {
            [one] => format!("keep {one} as it is"),
            _ => format!(
                "keep {} plans as they are: {}{}",
                paths.len(),
                named.join(", "),
                match paths.len().saturating_sub(MAX_SUMMARY_NAMES) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                }
            ),
        }
    }

    /// Returns all facts with the statuses that follow, and the plans that become approved again
    /// without a decision of their own.
    pub(crate) fn into_facts(
        mut self,
        tx: &dyn Transaction,
    ) -> Result<(Vec<Fact>, Vec<TransitionView>), Failure> {
        cascade_statuses(self.ctx, tx, &mut self.facts, &[], self.now, None)?;
        let kept: HashSet<String> = self
            .kept
            .iter()
            .filter_map(|id| self.tree.get(*id))
            .map(|node| self.tree.alias_path(node))
            .collect();
        let changed = collect_transitions(tx, &self.facts, None)?;
        let reinstated = changed.reinstated.into_iter();
        let reinstated = reinstated.filter(|change| !kept.contains(&change.path));
        Ok((self.facts, reinstated.collect()))
    }
}
