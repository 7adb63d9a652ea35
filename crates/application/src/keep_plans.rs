//! Keeps many stale plans as one operation.
//!
//! Decided level by level, each on the statuses that follow from the decisions above it: a plan that
//! is approved again with its parent needs no decision of its own. One refused plan does not stop
//! the others; they are independent decisions.

use std::collections::HashSet;

use domain::approval::{ApprovalRequest, Force, decide_approval};
use domain::fact::Fact;
use domain::ids::NodeId;
use domain::node::{Node, Status};
use domain::ports::Transaction;
use domain::revalidation::keep_stale_node;
use domain::time::Timestamp;
use domain::tree::Tree;

use crate::answer_question::AskedQuestion;
use crate::approve::refuse_unavailable;
use crate::context::Context;
use crate::duplicate_ids::refuse_duplicate;
use crate::failure::Failure;
use crate::pending_decisions::{PendingDecisions, name_first_plans};
use crate::plan_documents::refuse_frozen_edit;
use crate::plan_warnings::WarningCollector;
use crate::precise_cascade::ReliedSections;
use crate::record_policy::resolve_deciding_policy;
use crate::revalidate::RefusedView;
use crate::transitions::collect_transitions;
use crate::views::TransitionView;
use crate::working_copy::find_differing_nodes;

/// Decisions to keep plans that become one operation.
pub(crate) struct KeptPlans<'d> {
    ctx: &'d Context<'d>,
    force: Force,
    asked: Option<&'d [AskedQuestion]>,
    warnings: WarningCollector<'d>,
    relied: ReliedSections<'d>,
    pending: PendingDecisions<'d>,
    /// In the order in which they were decided.
    pub(crate) kept: Vec<NodeId>,
    pub(crate) refused: Vec<RefusedView>,
}

impl<'d> KeptPlans<'d> {
    pub(crate) fn new(
        ctx: &'d Context<'d>,
        tree: &'d Tree,
        force: Force,
        asked: Option<&'d [AskedQuestion]>,
        now: Timestamp,
    ) -> Self {
        Self {
            ctx,
            force,
            asked,
            warnings: WarningCollector::new(ctx),
            relied: ReliedSections::new(ctx),
            pending: PendingDecisions::new(ctx, tree, now),
            kept: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// Decides on plans, those of one depth after those above them.
    pub(crate) fn decide_by_level(
        &mut self,
        tx: &dyn Transaction,
        plans: &[NodeId],
    ) -> Result<(), Failure> {
        let differing = find_differing_nodes(self.ctx, tx)?;
        for level in self.pending.group_by_depth(plans.iter().copied()) {
            // Before each level: what a decision above has settled is approved again by now and
            // needs none.
            self.pending.derive_statuses(tx)?;
            for id in level {
                let Some(node) = self
                    .pending
                    .present_node(id)
                    .filter(|node| node.status() == Status::RequiresRevalidation)
                else {
                    continue;
                };
                let path = self.pending.tree.alias_path(&node);
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
                        self.pending.push_facts(facts);
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

    fn decide_plan(
        &mut self,
        tx: &dyn Transaction,
        node: &Node,
        path: &str,
    ) -> Result<Vec<Fact>, Failure> {
        let ctx = self.ctx;
        let parent = self.pending.present_parent(node);
        refuse_unavailable(ctx, node)?;
        refuse_duplicate(ctx, tx, node)?;
        refuse_frozen_edit(tx, node)?;
        let find = |asked: &'d [AskedQuestion]| asked.iter().find(|one| one.path == path);
        let asked = self.asked.and_then(find);
        let is_settled_above = parent
            .as_ref()
            .is_none_or(|parent| parent.status() == Status::Approved);
        // A list was shown and this plan could have been in it: nobody has seen the change that made
        // it stale.
        if self.asked.is_some() && asked.is_none() && is_settled_above {
            return Err(Failure::refused("it became stale after the list was shown"));
        }
        let shown = asked.map(AskedQuestion::expected_versions);
        // Before the rules of keeping: a person who was shown another version is told that first.
        if let Some(shown) = &shown {
            shown.check_current(path, node, parent.as_ref())?;
        }
        // Not returned at once: a refusal matters only if there is an approval to renew.
        let approval = decide_approval(
            ApprovalRequest {
                node,
                path,
                parent: parent.as_ref(),
                by: &ctx.actor,
                now: self.pending.now,
                force: asked
                    .map_or(Force::No, |asked| asked.overrides)
                    .max(self.force),
                shown: shown.as_ref(),
                warnings: self.warnings.collect_warnings(tx, node, parent.as_ref())?,
                relied_sections: self.relied.digest_for(tx, node, parent.as_ref())?,
            },
            &resolve_deciding_policy(ctx, tx)?,
        );
        Ok(keep_stale_node(path, node, parent.as_ref(), approval)?)
    }

    /// Returns one line for the log.
    pub(crate) fn render_summary(&self) -> String {
        let paths = self.pending.list_paths(&self.kept);
        match paths.as_slice() {
            [one] => format!("keep {one} as it is"),
            several => format!(
                "keep {} plans as they are: {}",
                several.len(),
                name_first_plans(several)
            ),
        }
    }

    /// Returns all facts with the statuses that follow, and the plans that become approved again
    /// without a decision of their own.
    pub(crate) fn into_facts(
        self,
        tx: &dyn Transaction,
    ) -> Result<(Vec<Fact>, Vec<TransitionView>), Failure> {
        let kept: HashSet<String> = self.pending.list_paths(&self.kept).into_iter().collect();
        let facts = self.pending.into_facts(tx)?;
        let changed = collect_transitions(tx, &facts, None)?;
        let reinstated = changed.reinstated.into_iter();
        let reinstated = reinstated.filter(|change| !kept.contains(&change.path));
        Ok((facts, reinstated.collect()))
    }
}
