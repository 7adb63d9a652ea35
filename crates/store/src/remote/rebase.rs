//! Rebase of queued operations onto the server's history, by what they really depend on.
//!
//! An operation gets the next id, and the nodes it adds get the next free ones; what names them
//! follows. It is kept if its facts apply to the server's state: each fact holds the value it was
//! decided on. Only operations about a node that a conflicting one should have added depend on it in
//! another way, and conflict with it.

use std::collections::{BTreeMap, HashMap};

use domain::fact::Fact;
use domain::file_writes::FileWrites;
use domain::ids::{NodeId, OperationId};
use domain::ports::{NewOperation, StoreFault};
use domain::rebase::{IdVisitor, visit_fact_ids};
use domain::secrets::mask_operation;
use domain::time::Timestamp;

use crate::engine::ChainedOperation;
use crate::memory::MemoryState;

/// Nodes that a conflicting operation should have added, with that operation.
pub(super) type LostNodes = BTreeMap<NodeId, OperationId>;

/// Outcome of a rebase.
pub(super) struct RebaseOutcome {
    pub(super) again: Vec<ChainedOperation>,
    pub(super) misfits: Vec<Misfit>,
}

/// An operation that conflicts with the server.
pub(super) struct Misfit {
    pub(super) operation: ChainedOperation,
    pub(super) why: String,
    /// Nodes it names that do not exist on the server.
    pub(super) lost: Vec<NodeId>,
}

/// New ids of the queued operations and of the nodes they add.
#[derive(Clone, Default)]
pub(super) struct NewIds {
    pub(super) nodes: HashMap<NodeId, NodeId>,
    pub(super) operations: HashMap<OperationId, OperationId>,
}

/// Replaces ids, and collects those of lost nodes.
pub(super) struct IdReplacement<'r> {
    pub(super) ids: &'r NewIds,
    pub(super) lost: &'r LostNodes,
    pub(super) found_lost: Vec<NodeId>,
}

impl IdVisitor for IdReplacement<'_> {
    fn visit_node(&mut self, id: &mut NodeId) {
        if let Some(new) = self.ids.nodes.get(id) {
            *id = *new;
        } else if self.lost.contains_key(id) && !self.found_lost.contains(id) {
            self.found_lost.push(*id);
        }
    }

    fn visit_operation(&mut self, id: &mut OperationId) {
        if let Some(new) = self.ids.operations.get(id) {
            *id = *new;
        }
    }
}

/// Returns the ids of the nodes that these facts add.
pub(super) fn added_nodes(facts: &[Fact]) -> Vec<NodeId> {
    let added = facts.iter().filter_map(|fact| match fact {
        Fact::NodeAdded { node } => Some(node.id),
        _ => None,
    });
    added.collect()
}

/// Rebases operations onto another state, in order; those that conflict are left out.
pub(super) fn rebase_operations(
    state: &mut MemoryState,
    waiting: Vec<ChainedOperation>,
    mut lost: LostNodes,
    now: Timestamp,
) -> Result<RebaseOutcome, StoreFault> {
    let mut ids = NewIds::default();
    let mut rebased = RebaseOutcome {
        again: Vec::new(),
        misfits: Vec::new(),
    };
    for one in waiting {
        let old = one.operation.id;
        let added = added_nodes(&one.operation.facts);
        let mut own_ids = ids.clone();
        own_ids.operations.insert(old, state.head().next_id());
        let mut next = state.next_node_id().0;
        for node in &added {
            own_ids.nodes.insert(*node, NodeId(next));
            next = next.saturating_add(1);
        }
        let (again, found_lost) = rebase_operation(state, &one, &own_ids, &lost, now)?;
        let fits = match found_lost.first().and_then(|node| lost.get(node)) {
            Some(first) => Err(format!("it depends on operation {first}, which conflicts")),
            None => apply_to_copy(state, &again),
        };
        match fits {
            Ok(draft) => {
                *state = draft;
                ids = own_ids;
                rebased.again.push(again);
            }
            Err(why) => {
                lost.extend(added.into_iter().map(|node| (node, old)));
                rebased.misfits.push(Misfit {
                    operation: name_server_nodes(&one, &ids)?,
                    why,
                    lost: found_lost,
                });
            }
        }
    }
    Ok(rebased)
}

/// Returns the operation at the end of `state`, with new ids, and the lost nodes it names.
fn rebase_operation(
    state: &MemoryState,
    one: &ChainedOperation,
    ids: &NewIds,
    lost: &LostNodes,
    now: Timestamp,
) -> Result<(ChainedOperation, Vec<NodeId>), StoreFault> {
    let mut replacement = IdReplacement {
        ids,
        lost,
        found_lost: Vec::new(),
    };
    // The server refuses operations whose date is off by minutes.
    let mut new = to_new_operation(one, now);
    visit_fact_ids(&mut new.facts, &mut replacement);
    follow_redo_entry(&mut new.facts, |record| state.records.get(record).cloned());
    // They may have been queued by a version that did not mask secrets.
    mask_operation(&mut new, state)?;
    let again = ChainedOperation::new(state.head().next_id(), state.head_hash, new)?;
    Ok((again, replacement.found_lost))
}

/// Returns an operation as one to be recorded again.
pub(super) fn to_new_operation(one: &ChainedOperation, at: Timestamp) -> NewOperation {
    let operation = one.operation.clone();
    NewOperation {
        at,
        by: operation.by,
        channel: operation.channel,
        verb: operation.verb,
        summary: operation.summary,
        key: operation.key,
        facts: operation.facts,
        texts: one.texts.iter().map(|(_, text)| text.clone()).collect(),
    }
}

/// Sets the previous value of the redo entry for file writes to the recorded one.
///
/// Every operation that writes files replaces the entry of its working copy. Nobody else does, so
/// this is no conflict, and without it each operation would depend on the one before.
pub(super) fn follow_redo_entry(
    facts: &mut [Fact],
    recorded: impl Fn(&domain::record::RecordKey) -> Option<serde_json::Value>,
) {
    for fact in facts {
        if let Fact::RecordChanged { record, before, .. } = fact
            && FileWrites::is_redo_record(&record.kind)
        {
            *before = recorded(record);
        }
    }
}

/// Applies an operation to a copy of the state: one that fails half-way leaves it half changed.
fn apply_to_copy(state: &MemoryState, one: &ChainedOperation) -> Result<MemoryState, String> {
    let mut draft = state.clone();
    draft.apply_operation(one).map_err(|misfit| misfit.0)?;
    for fact in &one.operation.facts {
        if let Fact::NodeAdded { node } = fact
            && let Some(parent) = node.parent
            && draft.tree.get(parent).is_none()
        {
            return Err(format!("the parent of `{}` does not exist", node.alias));
        }
    }
    Ok(draft)
}

/// Returns a conflicting operation with the ids that earlier ones got on the server.
fn name_server_nodes(one: &ChainedOperation, ids: &NewIds) -> Result<ChainedOperation, StoreFault> {
    let mut new = to_new_operation(one, one.operation.at);
    let mut replacement = IdReplacement {
        ids,
        lost: &LostNodes::new(),
        found_lost: Vec::new(),
    };
    visit_fact_ids(&mut new.facts, &mut replacement);
    ChainedOperation::new(one.operation.id, one.prev, new)
}
