//! Summary of the plans: how many there are per level, which need a decision, and which are ready.
//!
//! Stored as a note and brought up to date with the facts recorded since, so that the start of a
//! session, `tl status` and `tl next` cost the same in a small project and in a large one. Lost or too old, it is computed
//! from the whole tree.

use std::collections::{BTreeMap, BTreeSet};

use domain::approval::Condemnation;
use domain::duplicate_ids::is_duplicate;
use domain::fact::Fact;
use domain::ids::{Digest32, NodeId, OperationId, StoreId};
use domain::node::{Node, Progress, Status};
use domain::operation::Operation;
use domain::plan_document::milestones_profile;
use domain::ports::{Snapshot, StoreFault, Transaction};
use domain::trail;
use domain::tree::{FactMismatch, Tree};
use serde::{Deserialize, Serialize};

use crate::approval_need::asks_for_approval;
use crate::context::Context;
use crate::failure::Failure;
use crate::locate::load_with_ancestors;
use crate::observe::load_plan_tree;
use crate::project_status::{Attention, needs_decision};
use crate::ready_nodes::ReadyNodes;
use crate::views::StatusCounts;
use crate::waiting_plans::WaitingPlans;
use crate::working_copy::is_state_shared;

const NOTE_KEY: &str = "plan-summary/3";
/// Maximum number of operations the summary is brought up to date with.
const MAX_OPERATIONS: usize = 64;
/// Number of nodes that they may always have changed; with more, the whole tree is read.
const MAX_CHANGED_NODES: usize = 256;
/// Plans per additional node that may have changed: a changed node is read with its children, twice.
const PLANS_PER_CHANGED_NODE: usize = 8;
/// Number of plans from which on a command stores the summary it had to compute from the tree.
const MIN_STORED_PLANS: usize = 200;
/// Number of operations after which a command stores the summary it brought up to date.
const MIN_STORED_OPERATIONS: usize = 16;

/// The plans in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PlanSummary {
    /// By level.
    levels: BTreeMap<String, LevelCount>,
    /// Invalid and stale plans.
    pub(crate) urgent: WaitingPlans,
    /// Drafts that can be approved now.
    pub(crate) drafts: WaitingPlans,
    /// Plans of which changes are requested: the agent's turn.
    // Absent in notes of earlier programs, which had no such requests.
    #[serde(default)]
    pub(crate) returned: WaitingPlans,
    pub(crate) ready: ReadyNodes,
    /// Number of plans with the id of another one.
    pub(crate) duplicates: usize,
}

/// The plans of one level in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LevelCount {
    pub(crate) by_status: StatusCounts,
    /// Number of plans whose work is complete.
    pub(crate) completed: usize,
    /// Number of plans whose approval matters.
    pub(crate) asking: usize,
}

impl PlanSummary {
    /// Counts the nodes of a tree.
    pub(crate) fn of_tree(ctx: &Context<'_>, tree: &Tree) -> Self {
        let mut summary = Self::default();
        for node in tree.nodes() {
            summary.add_node(ctx, tree, node);
        }
        summary.ready = ReadyNodes::of_tree(ctx, tree);
        summary
    }

    /// Returns the counts of a level; `None` if there are no plans of it.
    pub(crate) fn count_of_level(&self, name: &str) -> Option<&LevelCount> {
        let count = self.levels.get(name)?;
        (count.by_status.total() > 0).then_some(count)
    }

    /// Whether there are plan documents. Most projects have none, and need not be searched for them.
    pub(crate) fn has_documents(&self) -> bool {
        let mut levels = milestones_profile().levels.iter();
        levels.any(|level| level.root && self.count_of_level(&level.name).is_some())
    }

    /// Returns the number of all plans.
    pub(crate) fn count_plans(&self) -> usize {
        let levels = self.levels.values();
        levels.map(|count| count.by_status.total()).sum()
    }

    /// Describes up to `most` of the listed plans, the most urgent first, with reasons and next
    /// steps.
    pub(crate) fn describe_waiting(
        ctx: &Context<'_>,
        state: &dyn Snapshot,
        waiting: &WaitingPlans,
        most: usize,
    ) -> Result<Vec<Attention>, Failure> {
        let tree = load_with_ancestors(state, waiting.listed_nodes().collect())?;
        let nodes = waiting.listed_nodes().filter_map(|id| tree.get(id));
        let mut nodes: Vec<&Node> = nodes.collect();
        nodes.sort_by_key(|node| Attention::rank_of_status(node.status()));
        let first = nodes.into_iter().take(most);
        first
            .map(|node| Attention::describe_node(ctx, state, &tree, node))
            .collect()
    }

    /// Returns up to `most` requests for changes: the plan's path, and the request.
    pub(crate) fn list_requests(
        &self,
        state: &dyn Snapshot,
        most: usize,
    ) -> Result<Vec<(String, Condemnation)>, Failure> {
        let tree = load_with_ancestors(state, self.returned.listed_nodes().collect())?;
        let nodes = self.returned.listed_nodes().filter_map(|id| tree.get(id));
        let requests = nodes.filter_map(|node| {
            let request = node.change_request()?;
            Some((tree.alias_path(node), request.clone()))
        });
        Ok(requests.take(most).collect())
    }

    fn add_node(&mut self, ctx: &Context<'_>, tree: &Tree, node: &Node) {
        // The trail is no planned work.
        if node.profile == trail::PROFILE {
            return;
        }
        let count = self.levels.entry(node.level.clone()).or_default();
        count.by_status.add_status(node.status());
        count.completed += usize::from(node.progress == Progress::Complete);
        if node.change_request().is_some() {
            self.returned.add_in_tree_order(tree, node);
        }
        count.asking += usize::from(asks_for_approval(ctx, node));
        self.duplicates += usize::from(is_duplicate(&node.alias));
        if needs_decision(ctx, tree, node) {
            self.waiting_list(node).add_waiting(tree, node);
        }
    }

    fn remove_node(&mut self, ctx: &Context<'_>, tree: &Tree, node: &Node) {
        if node.profile == trail::PROFILE {
            return;
        }
        if let Some(count) = self.levels.get_mut(&node.level) {
            count.by_status.remove_status(node.status());
            let completed = usize::from(node.progress == Progress::Complete);
            // Saturating: a note that was computed by another program may be off, and a wrong count
            // is better than a panic in a hook (P9).
            count.completed = count.completed.saturating_sub(completed);
            let asking = usize::from(asks_for_approval(ctx, node));
            count.asking = count.asking.saturating_sub(asking);
        }
        if node.change_request().is_some() {
            self.returned.remove_waiting(node.id);
        }
        let duplicates = usize::from(is_duplicate(&node.alias));
        self.duplicates = self.duplicates.saturating_sub(duplicates);
        if needs_decision(ctx, tree, node) {
            self.waiting_list(node).remove_waiting(node.id);
        }
    }

    fn waiting_list(&mut self, node: &Node) -> &mut WaitingPlans {
        match node.status() {
            Status::Draft => &mut self.drafts,
            Status::Approved | Status::RequiresRevalidation | Status::Invalid => &mut self.urgent,
        }
    }

    /// Returns the summary of a state that has operations laid over it, newest first.
    pub(crate) fn with_overlaid(
        &self,
        ctx: &Context<'_>,
        state: &dyn Snapshot,
        operations: &[Operation],
    ) -> Result<Self, Failure> {
        if operations.is_empty() {
            return Ok(self.clone());
        }
        Ok(match self.clone().updated_by(ctx, state, operations)? {
            Some(summary) => summary,
            None => Self::of_tree(ctx, &load_plan_tree(state)?),
        })
    }

    /// Brings the summary up to date with operations, newest first; `None` if reading the whole tree
    /// is less work.
    fn updated_by(
        mut self,
        ctx: &Context<'_>,
        state: &dyn Snapshot,
        operations: &[Operation],
    ) -> Result<Option<Self>, Failure> {
        let facts = || operations.iter().flat_map(|operation| &operation.facts);
        // The former parent is not among the nodes below, and a name is part of the order.
        let moves = |fact: &Fact| matches!(fact, Fact::NodeMoved { .. } | Fact::NodeRenamed { .. });
        if facts().any(moves) {
            return Ok(None);
        }
        let changed: BTreeSet<NodeId> = facts().flat_map(Fact::changed_nodes).collect();
        let most = MAX_CHANGED_NODES.max(self.count_plans() / PLANS_PER_CHANGED_NODE);
        if changed.len() > most {
            return Ok(None);
        }
        // Whether a node can be decided depends on its parent too, whether it is ready on its
        // children.
        let (mut decided, mut judged) = (changed.clone(), changed.clone());
        for id in &changed {
            if let Some(node) = state.load_node(*id)? {
                decided.extend(state.child_names(*id)?.iter().map(|child| child.id));
                judged.extend(node.parent);
            }
            if decided.len() > most {
                return Ok(None);
            }
        }
        for fact in facts() {
            if let Fact::NodeRemoved { node } = fact {
                judged.extend(node.parent);
            }
        }
        let mut loaded = &decided | &judged;
        for id in &judged {
            if state.load_node(*id)?.is_some() {
                loaded.extend(state.child_names(*id)?.iter().map(|child| child.id));
            }
            if loaded.len() > most {
                return Ok(None);
            }
        }
        let after = load_with_ancestors(state, loaded.into_iter().collect())?;
        // The tree has only the loaded nodes, so a fact about another one does not apply: then
        // everything is counted.
        let Ok(before) = revert_operations(after.clone(), operations) else {
            return Ok(None);
        };
        for id in decided {
            // Each node is judged within the tree of its time: whether it waits depends on its
            // parent's status then.
            if let Some(node) = before.get(id) {
                self.remove_node(ctx, &before, node);
            }
            if let Some(node) = after.get(id) {
                self.add_node(ctx, &after, node);
            }
        }
        if !self.ready.update_nodes(ctx, &before, &after, &judged) {
            return Ok(None);
        }
        // A list keeps only the first plans; when those are decided, the next ones are known only
        // from the tree.
        let lists = [&self.urgent, &self.drafts, &self.returned];
        let is_exhausted = lists.into_iter().any(WaitingPlans::is_exhausted);
        Ok((!is_exhausted).then_some(self))
    }
}

/// Returns the tree as it was before operations, newest first.
fn revert_operations(mut tree: Tree, operations: &[Operation]) -> Result<Tree, FactMismatch> {
    for operation in operations {
        let facts = operation.facts.iter().rev();
        for fact in facts.filter_map(Fact::inverse_fact) {
            tree.apply_facts([&fact], operation.at)?;
        }
    }
    Ok(tree)
}

/// A summary with the state it was computed from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredSummary {
    basis: SummaryBasis,
    pub(crate) summary: PlanSummary,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SummaryBasis {
    store: StoreId,
    head: OperationId,
    /// Of the operation: the number alone would match another history.
    hash: Option<Digest32>,
    /// Which profiles ask for approval.
    profiles: Digest32,
}

impl SummaryBasis {
    fn of_operation(
        ctx: &Context<'_>,
        state: &dyn Snapshot,
        head: OperationId,
    ) -> Result<Self, StoreFault> {
        let mut profiles = String::new();
        for profile in ctx.profiles {
            profiles.push_str(&format!("{} {:?}\n", profile.name, profile.approval));
        }
        Ok(Self {
            store: state.store_id()?,
            head,
            hash: state.chain_hash(head)?,
            profiles: Digest32::of_bytes(profiles.as_bytes()),
        })
    }
}

impl StoredSummary {
    /// Returns the summary of a state for a command, and whether it was so much work that it is worth
    /// storing for the next one.
    pub(crate) fn load_for_command(
        ctx: &Context<'_>,
        state: &dyn Snapshot,
    ) -> Result<(Self, bool), Failure> {
        let current = Self::load_current(ctx, state)?;
        let known = Self::load_stored(state)?.map(|stored| stored.basis.head);
        let since = known.and_then(|known| current.basis.head.0.checked_sub(known.0));
        let is_recent = since.is_some_and(|since| since <= MIN_STORED_OPERATIONS as u64);
        let is_large = current.summary.count_plans() >= MIN_STORED_PLANS;
        // On a shared state none is stored; without this check every command would take the write
        // lock for nothing.
        let is_worth_storing = is_large && !is_recent && !is_state_shared(ctx, state)?;
        Ok((current, is_worth_storing))
    }

    /// Stores the summary in a transaction of its own. Failing to is harmless: the next command
    /// computes it again.
    pub(crate) fn keep_for_commands(&self, ctx: &Context<'_>) {
        let stored = ctx
            .store
            .begin_write()
            .map_err(Failure::from)
            .and_then(|mut tx| {
                self.save_note(ctx, &mut *tx)?;
                Ok(tx.commit()?)
            });
        drop(stored);
    }

    /// Returns the summary of a state: the stored one, brought up to date, or a new one.
    pub(crate) fn load_current(ctx: &Context<'_>, state: &dyn Snapshot) -> Result<Self, Failure> {
        let head = state.last_operation_id()?;
        let summary = match Self::load_updated(ctx, state, head)? {
            Some(summary) => summary,
            None => PlanSummary::of_tree(ctx, &load_plan_tree(state)?),
        };
        Ok(Self {
            basis: SummaryBasis::of_operation(ctx, state, head)?,
            summary,
        })
    }

    fn load_updated(
        ctx: &Context<'_>,
        state: &dyn Snapshot,
        head: OperationId,
    ) -> Result<Option<PlanSummary>, Failure> {
        // The texts of a working copy are laid over a shared state and not recorded in it.
        if is_state_shared(ctx, state)? {
            return Ok(None);
        }
        let Some(stored) = Self::load_stored(state)? else {
            return Ok(None);
        };
        let known = stored.basis.head;
        let since = head.0.checked_sub(known.0).map(usize::try_from);
        let Some(Ok(since @ ..=MAX_OPERATIONS)) = since else {
            return Ok(None);
        };
        // The basis of the known operation is computed from this state: with another history,
        // another store or other profiles it differs, and the note is not used.
        if SummaryBasis::of_operation(ctx, state, known)? != stored.basis {
            return Ok(None);
        }
        if since == 0 {
            return Ok(Some(stored.summary));
        }
        let operations = state.load_operations(None, since)?;
        stored.summary.updated_by(ctx, state, &operations)
    }

    fn load_stored(state: &dyn Snapshot) -> Result<Option<Self>, Failure> {
        let note = state.load_note(NOTE_KEY)?;
        Ok(note.and_then(|body| serde_json::from_str(&body).ok()))
    }

    /// Stores the summary, unless it is stored already or the state went on since.
    pub(crate) fn save_note(
        &self,
        ctx: &Context<'_>,
        tx: &mut dyn Transaction,
    ) -> Result<(), Failure> {
        // The state went on since: another command may have stored a newer summary, which this one
        // would replace.
        if tx.last_operation_id()? != self.basis.head || is_state_shared(ctx, &*tx)? {
            return Ok(());
        }
        if Self::load_stored(&*tx)?.as_ref() == Some(self) {
            return Ok(());
        }
        let body = serde_json::to_string(self).unwrap_or_default();
        Ok(tx.save_note(NOTE_KEY, Some(&body), ctx.clock.now())?)
    }
}
