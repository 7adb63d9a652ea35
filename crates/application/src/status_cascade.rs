//! Status cascade: derives the status changes that follow from facts about texts and approvals.
//!
//! The only place that gathers the inputs of a cascade: the affected subtrees as recorded, overlaid
//! with the facts about to be recorded, so that everything becomes one operation. The rules are in
//! `domain::cascade`.

use std::collections::{BTreeSet, HashMap, HashSet};

use domain::cascade::{
    CascadeContext, StatusChangeGroup, overlay_pending_facts, parent_state_of, reevaluate_subtree,
};
use domain::fact::Fact;
use domain::ids::NodeId;
use domain::node::{NodeStatus, Status};
use domain::ports::{Snapshot, StoreFault, Transaction};
use domain::status::{ParentState, StatusInputs, StatusRules};
use domain::time::Timestamp;

use crate::approval_need::count_asking_nodes;
use crate::context::Context;
use crate::failure::Failure;
use crate::precise_cascade::PreciseCascade;
use crate::record_policy::resolve_judging_policy;

/// Appends to `facts` every status change that follows from them.
pub(crate) fn cascade_statuses(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    facts: &mut Vec<Fact>,
    texts: &[String],
    now: Timestamp,
    note: Option<&str>,
) -> Result<(), Failure> {
    let tops = find_topmost_nodes(tx, facts)?;
    // Undoing a comment or a change of progress, for example, concerns no status.
    if tops.is_empty() {
        return Ok(());
    }
    // The cause of a status names the operation that is about to be recorded; under the write lock
    // its number is known.
    let occasion = CascadeContext {
        operation: tx.next_operation_id()?,
        now,
        note,
    };
    // Footings are the few columns a status depends on: a cascade over a large subtree reads no
    // wider rows.
    let mut footings = load_footings(tx, tops)?;
    overlay_pending_facts(&mut footings, facts);
    let above = load_outer_parents(tx, &footings)?;
    let precise = PreciseCascade::with_pending(ctx, tx, texts, facts);
    let moved = |child: &StatusInputs| precise.is_relevant_change(child);
    let rules = StatusRules {
        approval: resolve_judging_policy(ctx, tx, facts)?,
        moved: &moved,
    };
    let groups = reevaluate_subtree(
        &footings,
        &above,
        occasion,
        ctx.policy.cascade_max_depth,
        rules,
    )?;
    if !groups.is_empty() {
        facts.push(Fact::StandingsChanged { groups });
    }
    Ok(())
}

/// Loads the subtrees below these nodes.
fn load_footings(tx: &dyn Transaction, tops: Vec<NodeId>) -> Result<Vec<StatusInputs>, StoreFault> {
    let mut footings = Vec::new();
    for top in tops {
        footings.extend(tx.load_status_inputs(top)?);
    }
    Ok(footings)
}

/// Returns the status changes missing from recorded facts; none if the recorded statuses are right.
pub(crate) fn find_wrong_statuses(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    facts: &[Fact],
    now: Timestamp,
) -> Result<Vec<StatusChangeGroup>, Failure> {
    let tops = find_topmost_nodes(tx, facts)?;
    // The operation is recorded already, with its texts: there is nothing to overlay.
    let precise = PreciseCascade::new(ctx, tx);
    let footings = load_footings(tx, tops)?;
    let above = load_outer_parents(tx, &footings)?;
    let occasion = CascadeContext {
        operation: tx.last_operation_id()?,
        now,
        note: None,
    };
    let moved = |child: &StatusInputs| precise.is_relevant_change(child);
    let rules = StatusRules {
        approval: resolve_judging_policy(ctx, tx, &[])?,
        moved: &moved,
    };
    Ok(reevaluate_subtree(
        &footings,
        &above,
        occasion,
        ctx.policy.cascade_max_depth,
        rules,
    )?)
}

/// Returns the topmost nodes whose status may follow from the facts.
fn find_topmost_nodes(tx: &dyn Transaction, facts: &[Fact]) -> Result<Vec<NodeId>, Failure> {
    let mut parents: HashMap<NodeId, Option<NodeId>> = HashMap::new();
    let mut touched: BTreeSet<NodeId> = BTreeSet::new();
    for fact in facts {
        match fact {
            Fact::NodeAdded { node } => {
                parents.insert(node.id, node.parent);
                touched.insert(node.id);
            }
            // Subtrees are loaded as recorded, so a moved node is found below its old parent.
            Fact::NodeMoved { node, .. }
            | Fact::ContentChanged { node, .. }
            | Fact::ApprovalChanged { node, .. }
            | Fact::CondemnationChanged { node, .. } => {
                touched.insert(*node);
            }
            Fact::StandingsChanged { groups } => {
                touched.extend(groups.iter().flat_map(|group| group.nodes.iter().copied()));
            }
            Fact::NodeRemoved { node } => {
                touched.remove(&node.id);
            }
            Fact::DescriptionChanged { .. }
            | Fact::NodeRenamed { .. }
            | Fact::ProgressChanged { .. }
            | Fact::BackupWritten { .. }
            | Fact::RecordChanged { .. }
            | Fact::UndoneChanged { .. } => {}
        }
    }
    let mut tops = Vec::new();
    // A node below another touched node is covered by that node's subtree; loading it twice would
    // judge it twice.
    for id in &touched {
        let mut above = load_parent_id(tx, &mut parents, *id)?;
        let mut covered = false;
        while let Some(parent) = above {
            if touched.contains(&parent) {
                covered = true;
                break;
            }
            above = load_parent_id(tx, &mut parents, parent)?;
        }
        if !covered {
            tops.push(*id);
        }
    }
    Ok(tops)
}

/// Returns a node's parent, from the facts or the store, each looked up once.
fn load_parent_id(
    tx: &dyn Transaction,
    known: &mut HashMap<NodeId, Option<NodeId>>,
    id: NodeId,
) -> Result<Option<NodeId>, Failure> {
    if let Some(parent) = known.get(&id) {
        return Ok(*parent);
    }
    let parent = tx.load_node(id)?.and_then(|node| node.parent);
    known.insert(id, parent);
    Ok(parent)
}

/// Returns the recorded parents just outside the loaded subtrees.
fn load_outer_parents(
    tx: &dyn Transaction,
    footings: &[StatusInputs],
) -> Result<HashMap<NodeId, (ParentState, NodeStatus)>, Failure> {
    let inside: HashSet<NodeId> = footings.iter().map(|footing| footing.id).collect();
    let mut above = HashMap::new();
    for parent in footings
        .iter()
        .filter_map(|footing| footing.parent)
        .filter(|parent| !inside.contains(parent))
    {
        if let std::collections::hash_map::Entry::Vacant(place) = above.entry(parent)
            && let Some(node) = tx.load_node(parent)?
        {
            place.insert((
                parent_state_of(&node.status_inputs(), node.status()),
                node.standing,
            ));
        }
    }
    Ok(above)
}

/// Returns the number of nodes that the facts make stale, where approval matters.
pub(crate) fn count_stale_nodes(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    facts: &[Fact],
) -> Result<usize, StoreFault> {
    let stale = facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::StandingsChanged { groups } => Some(groups),
            _ => None,
        })
        .flatten()
        .filter(|group| group.after.status == Status::RequiresRevalidation)
        .flat_map(|group| group.nodes.iter().copied());
    count_asking_nodes(ctx, state, stale)
}
